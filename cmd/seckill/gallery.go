package main

import (
	"errors"
	"fmt"
	"path"

	"github.com/spf13/cobra"

	"example.com/seckill/cmd/seckill/internal/cli"
	"example.com/seckill/internal/config"
	"example.com/seckill/internal/tools/gallery"
)

func newLabGallery(c cli.Console) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "gallery [NAME|WORDS]",
		Short: "Show wrong implementations and the tests that notice them",
		Long: `Shows the planted bugs that the program's tests are held against, as a gallery of wrong
implementations. Without an argument the most instructive ones are listed by subject; with a
name one is shown, with its change, the test that notices it and the invariant that it breaks;
with words all are listed that have them.`,
		Example: "  seckill lab gallery\n  seckill lab gallery no-fence\n  seckill lab gallery COMMIT",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return cli.Usage(errors.New("lab gallery: one name, or words in quotation marks"))
			}
			return nil
		},
		ValidArgsFunction: completeMutants,
	}
	language := cli.LanguageFlag(cmd)
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		if err := cli.CheckLanguage(*language); err != nil {
			return err
		}
		g, err := gallery.Load()
		if err != nil {
			return fmt.Errorf("lab gallery: %w", err)
		}
		text := g.Contents(*language)
		if len(args) > 0 {
			if text = g.Search(args[0]); text == "" {
				return noMutant(g, args[0])
			}
		}
		if _, err := fmt.Fprint(c.Out, text); err != nil {
			return fmt.Errorf("print the gallery: %w", err)
		}
		return nil
	}
	return cmd
}

// noMutant returns the error of a search that found nothing.
func noMutant(g *gallery.Gallery, words string) error {
	var names []string
	for _, m := range g.Mutants {
		names = append(names, path.Base(m.Name))
	}
	err := fmt.Errorf("lab gallery: no gallery entry matches %q", words)
	if near, ok := config.Nearest(words, names); ok {
		err = fmt.Errorf("%w, did you mean %q?", err, near)
	}
	return cli.Usage(err)
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
