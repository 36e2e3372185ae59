package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"
)

// width is the number of columns of the text.
const width = 78

// writeText writes the report as text: the head, the table of each scenario, and the comparison with earlier runs.
// loadtest/summary.js has written the tables, so that `k6 run` prints the same.
func (r *report) writeText(w io.Writer, folder string, isColoured bool) error {
	var lines []string
	add := func(indent, text string) { lines = append(lines, wrap(indent, text)...) }
	add("", "Load test "+r.Verdict())
	add("", r.At+prefixed(", revision ", r.Revision))
	add("", r.Machine)
	add("", "server: "+r.On+prefixed(", ", r.Settings))
	parameters := r.Parameters()
	add("", parameters.Line)
	for _, warning := range parameters.Warnings {
		add("", "! "+warning)
	}
	for _, s := range r.Scenarios {
		lines = append(lines, "")
		text, err := os.ReadFile(filepath.Join(folder, s.Name+".txt"))
		if _, table, has := strings.Cut(string(text), "\n\n"); err == nil && has {
			lines = append(lines, strings.Split(strings.TrimSuffix(table, "\n"), "\n")...)
		} else {
			lines = append(lines, s.Name+strings.Repeat(" ", max(1, width-len(s.Name)-len("FAILED")))+"FAILED")
		}
		if s.Problem != "" {
			add("  ", "✘ "+s.Problem)
		}
	}
	if compared := r.Comparisons(); len(compared) > 0 {
		lines = append(lines, "", "Against the run before")
		for _, c := range compared {
			add("  ", c.Scenario+": "+c.With)
			add("    ", strings.Join(c.Changes, ", "))
		}
	}
	for _, line := range lines {
		if isColoured && isBad(line) {
			line = "\x1b[1;31m" + line + "\x1b[0m"
		}
		if _, err := fmt.Fprintln(w, line); err != nil {
			return fmt.Errorf("print the report: %w", err)
		}
	}
	return nil
}

// isBad reports whether a line says that something failed, or that a factor is not 1.
func isBad(line string) bool {
	return strings.HasPrefix(line, "! ") || strings.HasPrefix(line, "  ✘ ") || strings.HasSuffix(line, " FAILED") ||
		strings.HasPrefix(line, "Load test FAILED")
}

func prefixed(prefix, text string) string {
	if text == "" {
		return ""
	}
	return prefix + text
}

// wrap returns a text as lines of at most width columns. Each line begins with the indent.
func wrap(indent, text string) (lines []string) {
	line := ""
	for word := range strings.FieldsSeq(text) {
		if line != "" && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width {
			lines = append(lines, line)
			line = ""
		}
		if line == "" {
			line = indent + word
		} else {
			line += " " + word
		}
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}
