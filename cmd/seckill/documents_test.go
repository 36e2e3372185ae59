package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/seckill/cmd/seckill/internal/cli"
	"example.com/seckill/internal/testing/repository"
	"example.com/seckill/internal/tools/gallery"
)

const root = "../.."

// A test of internal/testing/repository holds the other commands.
func TestDocuments_CommandsOfTheProgram_Parse(t *testing.T) {
	commands, err := repository.Commands(root)
	require.NoError(t, err)
	checked := 0
	for _, c := range commands {
		args, is := c.Program()
		if !is {
			continue
		}
		checked++
		if err := parses(args); err != nil {
			t.Errorf("%s: %v", c, err)
		}
	}
	require.Positive(t, checked)
}

// parses returns an error if the program would reject the arguments. It runs nothing.
func parses(args []string) error {
	cmd, rest, err := newRoot(cli.Console{}).Find(args)
	if err != nil {
		return fmt.Errorf("find the command: %w", err)
	}
	if err := cmd.ParseFlags(rest); err != nil {
		return fmt.Errorf("parse the flags: %w", err)
	}
	words := cmd.Flags().Args()
	if err := cmd.ValidateArgs(words); err != nil {
		return fmt.Errorf("check the arguments: %w", err)
	}
	if file := cmd.Flags().Lookup("config"); file != nil && file.Changed {
		if _, err := os.Stat(filepath.Join(root, file.Value.String())); err != nil {
			return fmt.Errorf("find the configuration: %w", err)
		}
	}
	if language := cmd.Flags().Lookup("lang"); language != nil {
		if err := cli.CheckLanguage(language.Value.String()); err != nil {
			return err
		}
	}
	switch cmd.CommandPath() {
	case "seckill lab run":
		_, err = experimentsNamed(words[0])
		return err
	case "seckill lab gallery":
		g, err := gallery.Load()
		if err == nil && len(words) > 0 && g.Search(words[0]) == "" {
			err = errors.New("no mutant has " + words[0])
		}
		return err
	}
	return nil
}

func TestParses_WrongArguments_AreErrors(t *testing.T) {
	for line, want := range map[string]string{
		"dmeo":                                  `"dmeo"`,
		"demo now":                              `"now"`,
		"demo --users many":                     "--users",
		"demo --buyers 5":                       "--buyers",
		"serve --config configs/none.yaml":      "configs/none.yaml",
		"lab runs all":                          "did you mean",
		"lab run":                               "name one experiment",
		"lab run unlock-before-commits":         "unlock-before-commits",
		"lab run unlock-before-commit --lang x": `"x"`,
		"lab gallery no-such-mutant":            "no-such-mutant",
	} {
		require.ErrorContains(t, parses(strings.Fields(line)), want, line)
	}
	for _, line := range []string{
		"", "demo --users 5", "serve --config configs/seckill.yaml", "lab run all --html lab.html --lang zh", "lab gallery order/no-fence",
	} {
		require.NoError(t, parses(strings.Fields(line)), line)
	}
}
