package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"example.com/seckill/internal/config"
)

// CompleteWords offers the words that a flag takes, instead of files.
func CompleteWords(cmd *cobra.Command, flag string, words ...cobra.Completion) {
	if err := cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic(err) // the flag is not there, or has its words already
	}
}

// CompleteFiles offers the files for flags that take one: those whose names have one of the flag's
// endings, which blanks separate, and all if there is none.
func CompleteFiles(cmd *cobra.Command, endings map[string]string) {
	for flag, ending := range endings {
		if err := cmd.MarkFlagFilename(flag, strings.Fields(ending)...); err != nil {
			panic(err) // the flag is not there
		}
	}
}

// CompleteNothing offers no files where a command, or a flag of it, takes none.
func CompleteNothing(cmd *cobra.Command) {
	if cmd.ValidArgsFunction == nil && cmd.Runnable() {
		cmd.ValidArgsFunction = cobra.NoFileCompletions
	}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		_, taken := cmd.GetFlagCompletionFunc(f.Name)
		if !taken && f.Annotations == nil && f.Value.Type() != "bool" {
			_ = cmd.RegisterFlagCompletionFunc(f.Name, cobra.NoFileCompletions)
		}
	})
	for _, one := range cmd.Commands() {
		CompleteNothing(one)
	}
}

// RefuseRemovedFlag makes cmd refuse a flag that it no longer has, with the reason.
func RefuseRemovedFlag(cmd *cobra.Command, name, reason string) {
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok && unknown.GetSpecifiedName() == name {
			return Usage(fmt.Errorf("--%s is gone: %s", name, reason))
		}
		return cmd.Parent().FlagErrorFunc()(cmd, err)
	})
}

// RefuseRenamedFlags makes cmd refuse the names that flags had before, with those that they have now.
func RefuseRenamedFlags(cmd *cobra.Command, now map[string]string) {
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok {
			if name, renamed := now[unknown.GetSpecifiedName()]; renamed {
				return Usage(fmt.Errorf("--%s is gone: use --%s", unknown.GetSpecifiedName(), name))
			}
		}
		return cmd.Parent().FlagErrorFunc()(cmd, err)
	})
}

// FlagError returns the error of a flag with its value and the expected kind of value, or with the nearest flag.
func FlagError(cmd *cobra.Command, err error) error {
	wrong, ok := errors.AsType[*pflag.InvalidValueError](err)
	if !ok {
		return fmt.Errorf("%w%s", err, NearestFlag(cmd, err))
	}
	expected := map[string]string{
		"int": "a whole number", "int64": "a whole number", "float64": "a number", "duration": "a time such as 30s", "bool": "true or false",
	}[wrong.GetFlag().Value.Type()]
	if expected == "" {
		return err
	}
	return fmt.Errorf("--%s: %q is not %s", wrong.GetFlag().Name, wrong.GetValue(), expected)
}

// ConfigFlag adds --config and returns a function that reads the file and the
// environment, and the variables that other flags set over it.
func (c Console) ConfigFlag(cmd *cobra.Command) func(variables ...string) (config.Config, error) {
	return c.configFlag(cmd, config.Load)
}

// DatabaseFlag is ConfigFlag for a command that uses only the database.
func (c Console) DatabaseFlag(cmd *cobra.Command) func(variables ...string) (config.Config, error) {
	return c.configFlag(cmd, config.LoadDatabase)
}

func (c Console) configFlag(cmd *cobra.Command, read func(path string, environ []string) (config.Config, error),
) func(variables ...string) (config.Config, error) {
	path := cmd.Flags().String("config", "", "YAML file; SECKILL_ variables go over it (default: embedded stores)")
	CompleteFiles(cmd, map[string]string{"config": "yaml yml"})
	return func(variables ...string) (config.Config, error) {
		environ, err := c.arm()
		if err != nil {
			return config.Config{}, Usage(err)
		}
		for _, one := range variables {
			name, _, _ := strings.Cut(one, "=")
			environ = append(slices.DeleteFunc(slices.Clone(environ), func(is string) bool { return strings.HasPrefix(is, name+"=") }), one)
		}
		cfg, err := read(*path, environ)
		if err != nil {
			return config.Config{}, Usage(err)
		}
		return cfg, nil
	}
}

// NoArgs refuses arguments, which are usually flags without their dashes.
func NoArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return Usage(fmt.Errorf("%s takes no argument %q: see %s --help", cmd.CommandPath(), args[0], cmd.CommandPath()))
	}
	return nil
}

// SubcommandOnly refuses an argument that names no command of cmd.
func SubcommandOnly(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return Unknown(cmd, append(strings.Fields(cmd.CommandPath())[1:], args[0])...)
	}
	return nil
}

// Unknown returns the error of a command that parent does not have, with the one that may have been
// meant.
func Unknown(parent *cobra.Command, command ...string) error {
	var names []string
	for _, one := range parent.Commands() {
		if one.IsAvailableCommand() {
			names = append(names, one.Name())
		}
	}
	meant := ""
	if near, ok := config.Nearest(command[len(command)-1], names); ok {
		meant = fmt.Sprintf(", did you mean %q?", near)
	}
	return Usage(fmt.Errorf("unknown command %q%s: see seckill help", strings.Join(command, " "), meant))
}

// NearestFlag names the flag of cmd that may have been meant, if err is that it has no such flag.
func NearestFlag(cmd *cobra.Command, err error) string {
	unknown, ok := errors.AsType[*pflag.NotExistError](err)
	if !ok {
		return ""
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	})
	if near, ok := config.Nearest(unknown.GetSpecifiedName(), names); ok {
		return ", did you mean --" + near + "?"
	}
	return ""
}

// LanguageFlag adds --lang.
func LanguageFlag(cmd *cobra.Command) *string {
	to := cmd.Flags().String("lang", "en", "language of the text, en or zh")
	CompleteWords(cmd, "lang", "en", "zh")
	return to
}

// CheckLanguage refuses a language that nothing is written in.
func CheckLanguage(language string) error {
	if language != "en" && language != "zh" {
		return Usage(fmt.Errorf("--lang: %q is neither en nor zh", language))
	}
	return nil
}
