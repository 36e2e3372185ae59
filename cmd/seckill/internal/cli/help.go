package cli

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
)

// HelpWidth is the number of columns that a help text fits in.
const HelpWidth = 80

// WrapHelp wraps the descriptions of root's commands and flags at HelpWidth.
func WrapHelp(root *cobra.Command) {
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), ".FlagUsages ", fmt.Sprintf(".FlagUsagesWrapped %d ", HelpWidth)))
	wrapLong(root)
}

func wrapLong(cmd *cobra.Command) {
	cmd.Long = wrapped(cmd.Long, HelpWidth)
	for _, one := range cmd.Commands() {
		wrapLong(one)
	}
}

// wrapped returns text with its paragraphs wrapped at width. A paragraph with an indented line stays as it is.
func wrapped(text string, width int) string {
	paragraphs := strings.Split(text, "\n\n")
	for i, paragraph := range paragraphs {
		if strings.HasPrefix(paragraph, " ") || strings.Contains(paragraph, "\n ") {
			continue
		}
		var b strings.Builder
		column := 0
		for word := range strings.FieldsSeq(paragraph) {
			long := utf8.RuneCountInString(word)
			switch {
			case column == 0:
			case column+1+long > width:
				b.WriteByte('\n')
				column = 0
			default:
				b.WriteByte(' ')
				column++
			}
			b.WriteString(word)
			column += long
		}
		paragraphs[i] = b.String()
	}
	return strings.Join(paragraphs, "\n\n")
}
