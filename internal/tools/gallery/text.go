package gallery

import (
	"fmt"
	"strings"
)

// Contents returns the instructive mutants by subject, as a terminal shows them.
func (g *Gallery) Contents(language string) string {
	var out strings.Builder
	chosen := 0
	for _, s := range g.Subjects {
		chosen += len(s.Names)
		fmt.Fprintln(&out, s.Title.In(language))
		for _, name := range s.Names {
			m, _ := g.Find(name)
			m.writeRow(&out)
		}
		fmt.Fprintln(&out)
	}
	fmt.Fprintf(&out, More.In(language)+"\n", chosen, len(g.Mutants))
	return out.String()
}

// Search returns the mutant of that name in full, or a row for each that has these words; "" if none has.
func (g *Gallery) Search(words string) string {
	var out strings.Builder
	if m, ok := g.Find(words); ok {
		m.write(&out)
		return out.String()
	}
	for _, m := range g.Mutants {
		if m.Matches(words) {
			m.writeRow(&out)
		}
	}
	return out.String()
}

func (m Mutant) writeRow(out *strings.Builder) {
	fmt.Fprintf(out, "  %-50s %-4s %s\n", m.Name, strings.Join(m.Invariants, " "), m.What)
}

func (m Mutant) write(out *strings.Builder) {
	fmt.Fprintf(out, "%s\n%s\n\n%s\n", m.Name, m.What, m.File)
	for _, line := range m.Diff {
		fmt.Fprintln(out, strings.TrimRight("  "+line, " \t"))
	}
	for _, k := range m.Killers {
		fmt.Fprintf(out, "\nkilled by  go test %s\n", k)
	}
	if m.By != "" {
		fmt.Fprintf(out, "red        %s\nsays       %s\n", m.By, m.Message)
	}
	if len(m.Invariants) > 0 {
		fmt.Fprintf(out, "breaks     %s, see docs/INVARIANTS.md\n", strings.Join(m.Invariants, ", "))
	}
}
