package main

import (
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/spf13/cobra"

	"seckill/internal/config"
	"seckill/internal/gallery"
)

func newLabGallery(c console) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "gallery [NAME|WORDS]",
		Short: "Wrong implementations: what each does, the change, and the test that notices it",
		Long: `Shows the planted bugs that the program's tests are held against, as a gallery of wrong
implementations. Without an argument the most instructive ones are listed by subject; with a
name one is shown, with its change, the test that notices it and the invariant that it breaks;
with words all are listed that have them.`,
		Example: "  seckill lab gallery\n  seckill lab gallery no-fence\n  seckill lab gallery COMMIT",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usage(errors.New("lab gallery: one name, or words in quotation marks"))
			}
			return nil
		},
		ValidArgsFunction: completeMutants,
	}
	language := languageFlag(cmd)
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		if err := checkLanguage(*language); err != nil {
			return err
		}
		g, err := gallery.Load()
		if err != nil {
			return fmt.Errorf("lab gallery: %w", err)
		}
		var out strings.Builder
		if len(args) == 0 {
			listSubjects(&out, g, *language)
		} else if err := showMutants(&out, g, args[0]); err != nil {
			return err
		}
		if _, err := fmt.Fprint(c.out, out.String()); err != nil {
			return fmt.Errorf("print the gallery: %w", err)
		}
		return nil
	}
	return cmd
}

// listSubjects writes the instructive mutants by subject.
func listSubjects(out *strings.Builder, g *gallery.Gallery, language string) {
	chosen := 0
	for _, s := range g.Subjects {
		chosen += len(s.Names)
		fmt.Fprintln(out, s.Title.In(language))
		for _, name := range s.Names {
			m, _ := g.Find(name)
			listMutant(out, m)
		}
		fmt.Fprintln(out)
	}
	fmt.Fprintf(out, gallery.More.In(language)+"\n", chosen, len(g.Mutants))
}

func listMutant(out *strings.Builder, m gallery.Mutant) {
	fmt.Fprintf(out, "  %-50s %-4s %s\n", m.Name, strings.Join(m.Invariants, " "), m.What)
}

// showMutants writes the mutant of that name, or all that have these words.
func showMutants(out *strings.Builder, g *gallery.Gallery, words string) error {
	if m, ok := g.Find(words); ok {
		showMutant(out, m)
		return nil
	}
	for _, m := range g.Mutants {
		if m.Matches(words) {
			listMutant(out, m)
		}
	}
	if out.Len() > 0 {
		return nil
	}
	err := fmt.Errorf("lab gallery: no mutant has %q", words)
	if near, ok := config.Nearest(words, mutantNames(g)); ok {
		err = fmt.Errorf("%w, did you mean %q?", err, near)
	}
	return usage(err)
}

func showMutant(out *strings.Builder, m gallery.Mutant) {
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

// mutantNames are the names within their rooms.
func mutantNames(g *gallery.Gallery) (names []string) {
	for _, m := range g.Mutants {
		names = append(names, path.Base(m.Name))
	}
	return names
}

// completeMutants offers the names of the instructive ones with what they do.
func completeMutants(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	g, err := gallery.Load()
	if err != nil || len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var all []cobra.Completion
	for _, s := range g.Subjects {
		for _, name := range s.Names {
			m, _ := g.Find(name)
			all = append(all, cobra.CompletionWithDesc(name, m.What))
		}
	}
	return all, cobra.ShellCompDirectiveNoFileComp
}
