package mutation

import (
	"fmt"
	"strings"
)

// Table returns the results of all mutants as Markdown, a table for each room. A mutant
// without a result, or with one that is not true any more, is in it as not tried.
func Table(o Options, all []Mutant) (string, error) {
	kept, err := loadResults(o.Results)
	if err != nil {
		return "", err
	}
	var text strings.Builder
	killed, room := 0, ""
	for _, m := range all {
		if m.Room() != room {
			room = m.Room()
			_, _ = fmt.Fprintf(&text, "\n## %s\n\n| mutant | mutation | killed | by |\n|---|---|---|---|\n", room)
		}
		one, known, err := kept.of(m, o)
		if err != nil {
			return "", err
		}
		if one.Verdict == Killed && known {
			killed++
		}
		_, name, _ := strings.Cut(m.Name(), room+"/")
		_, _ = fmt.Fprintf(&text, "| %s | %s | %s | %s |\n", name, cell(m.Mutation), one.cell(known), cell(one.says(known)))
	}
	head := fmt.Sprintf("# Mutants\n\nWritten by `make mutants`. %d mutants, %d killed.\n", len(all), killed)
	return head + text.String(), nil
}

func (r Result) cell(known bool) string {
	switch {
	case !known:
		return "not tried"
	case r.Verdict == Killed:
		return fmt.Sprintf("%d of %d", r.Killed, r.Tries)
	default:
		return fmt.Sprintf("%s, %d of %d", r.Verdict, r.Killed, r.Tries)
	}
}

func (r Result) says(known bool) string {
	switch {
	case !known:
		return ""
	case r.Message == "":
		return r.By
	default:
		return r.By + ": " + r.Message
	}
}

// cell makes a text safe for a Markdown table.
func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }
