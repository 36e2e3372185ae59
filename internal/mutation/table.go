package mutation

import (
	"fmt"
	"strings"
)

// tableHead is what the document says of itself. It names its own command.
const tableHead = `# Mutants

The %d planted bugs that the tests are held against, and what became of each when it was last tried: %d killed
(%d of them since their last change), %d not, %d never tried. How they are kept and tried is in [TESTING](TESTING.md#mutants). Written by

` + "```sh\n%s\n```" + `

which tries what has changed since and writes the results into this file. "killed" is in how many tries of how
many all the tests that the mutant names turned red, and "by" is the first of them, with what it said. A star is
a result of before the last change of the mutant, of the file's package or of the tests', when the table was
written.
`

const (
	// ResultsFile keeps the results, below the root, so that every copy of the source
	// has them, too.
	ResultsFile = "internal/mutation/testdata/results.jsonl"
	// TableFile is the document that is written from them.
	TableFile = "docs/MUTANTS.md"

	command = "go run ./internal/mutation/cmd/mutants -table " + TableFile
)

// Table returns the results of all mutants as Markdown, a table for each package. A result
// of before a change of the mutant or of its packages has a star.
func Table(o Options, all []Mutant) (string, error) {
	kept, err := loadResults(o.Results)
	if err != nil {
		return "", err
	}
	var text strings.Builder
	killed, now, never, room := 0, 0, 0, ""
	for _, m := range all {
		if m.Room() != room {
			room = m.Room()
			_, _ = fmt.Fprintf(&text, "\n## %s\n\n| mutant | what it would do | killed | by |\n|---|---|---|---|\n", room)
		}
		one, current, err := kept.of(m, o)
		if err != nil {
			return "", err
		}
		if one.Verdict == "" {
			never++
		}
		if one.Verdict == Killed {
			killed++
			if current {
				now++
			}
		}
		_, _ = fmt.Fprintf(&text, "| %s | %s | %s | %s |\n", m.short(), cell(m.Mutation), one.times(current), one.says())
	}
	return fmt.Sprintf(tableHead, len(all), killed, now, len(all)-killed-never, never, command) + text.String(), nil
}

// short is the name within the package.
func (m Mutant) short() string { return strings.TrimPrefix(m.Name(), m.Room()+"/") }

// times says how often the mutant was killed.
func (r Result) times(current bool) string {
	var text string
	switch r.Verdict {
	case "":
		return "never tried"
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
	switch {
	case r.By == "":
		return cell(r.Message)
	case r.Message == "":
		return code(r.By)
	}
	return code(r.By) + ": " + code(r.Message)
}

// cell makes a text safe for a Markdown table.
func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }

// code is cell for what is to be read as it stands.
func code(text string) string { return "`" + cell(strings.ReplaceAll(text, "`", "'")) + "`" }
