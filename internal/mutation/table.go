package mutation

import (
	"fmt"
	"strings"
)

// Table returns the results of all mutants as Markdown, a table for each package. A result
// of before a change of the mutant or of its packages has a star.
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
		one, current, err := kept.of(m, o)
		if err != nil {
			return "", err
		}
		if one.Verdict == Killed {
			killed++
		}
		_, name, _ := strings.Cut(m.Name(), room+"/")
		_, _ = fmt.Fprintf(&text, "| %s | %s | %s | %s |\n", name, cell(m.Mutation), one.times(current), cell(one.says()))
	}
	head := fmt.Sprintf("# Mutants\n\nWritten by `make mutants`: %d mutants, %d killed. A star is a result of before the last change\n"+
		"of the mutant or of its packages.\n", len(all), killed)
	return head + text.String(), nil
}

// times says how often the mutant was killed.
func (r Result) times(current bool) string {
	var text string
	switch r.Verdict {
	case "":
		return "not tried"
	case Killed:
		text = fmt.Sprintf("%d of %d", r.Killed, r.Tries)
	default:
		text = fmt.Sprintf("%s, %d of %d", r.Verdict, r.Killed, r.Tries)
	}
	if !current {
		text += " \\*"
	}
	return text
}

// says names the test that killed it, and what that test said.
func (r Result) says() string {
	if r.Message == "" {
		return r.By
	}
	return r.By + ": " + r.Message
}

// cell makes a text safe for a Markdown table.
func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }
