package mutation

import (
	"fmt"
	"strings"
)

// tableHead explains the table and names the command that writes it.
const tableHead = `# Mutants

The tests are held against %d planted bugs. At the last try %d were killed
(%d of them since their last change) and %d were not; %d were never tried. docs/TESTING.md says how the bugs are
kept and tried. This command tries the changed bugs and writes this table:

` + "```sh\n%s\n```" + `

The column "killed" counts the tries in which every test that the mutant names turned red. The column "by" has
the first of these tests with its message. A star marks a result from before the last change of the mutant, of
the mutated package or of the tests.
`

const (
	// ResultsFile keeps the results of the mutants. The path is relative to the root, because the gallery shows the
	// tests that the file names.
	ResultsFile = "internal/testing/mutation/testdata/results.jsonl"
	// TableFile is the table that the command writes from the results. It is not part of the repository.
	TableFile = "bin/mutants.md"

	command = "go run ./internal/testing/mutation/cmd/mutants -table " + TableFile
)

// Table returns the results of all mutants as Markdown, with one table per package. A star marks each result that is
// older than the last change of the mutant or of its packages.
func Table(o Options, all []Mutant) (string, error) {
	kept, err := loadResults(o.Results)
	if err != nil {
		return "", err
	}
	var text strings.Builder
	killed, now, never, pkg := 0, 0, 0, ""
	for _, m := range all {
		if m.Package() != pkg {
			pkg = m.Package()
			_, _ = fmt.Fprintf(&text, "\n## %s\n\n| mutant | what it would do | killed | by |\n|---|---|---|---|\n", pkg)
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

// short returns the mutant's name without the package.
func (m Mutant) short() string { return strings.TrimPrefix(m.Name(), m.Package()+"/") }

// times returns how often the tests killed the mutant, as text.
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

// says returns the name and the message of the test that killed the mutant, as text.
func (r Result) says() string {
	switch {
	case r.By == "":
		return cell(r.Message)
	case r.Message == "":
		return code(r.By)
	}
	return code(r.By) + ": " + code(r.Message)
}

// cell escapes a text for a cell of a Markdown table.
func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }

// code returns a text as inline code for a cell of a Markdown table.
func code(text string) string { return "`" + cell(strings.ReplaceAll(text, "`", "'")) + "`" }
