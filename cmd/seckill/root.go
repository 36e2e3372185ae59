package main

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"seckill/internal/app"
	"seckill/internal/config"
)

// usage marks err as a mistake of the command line or the configuration.
func usage(err error) error { return app.Usage(err) }

func newRoot(c console) *cobra.Command {
	root := &cobra.Command{
		Use:   "seckill",
		Short: "A flash sale of coupons that sells exactly its stock",
		Long: `seckill is a flash sale of coupons: it never sells more than there is, never less
than it could, and never loses an order that it acknowledged.

Start with "seckill demo": a whole sale in this process, with nothing installed.`,
		Example:       "  seckill demo\n  seckill serve --config configs/seckill.yaml",
		Version:       versionText(),
		SilenceErrors: true,
		SilenceUsage:  true,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknown(cmd, args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetOut(c.out)
	root.SetErr(c.err)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usage(fmt.Errorf("%w%s: see %s --help", err, nearestFlag(cmd, err), cmd.CommandPath()))
	})
	root.SetVersionTemplate("{{.Version}}\n")
	root.CompletionOptions.HiddenDefaultCmd = false
	root.AddCommand(newServe(c), newDemo(c), newCheck(c), newHealth(c), newRush(c),
		newAudit(c), newArchive(c), newLab(c), newMigrate(c), newToken(c), newVersion(c))
	root.AddCommand(extraCommands(c)...)
	completeNothing(root)
	root.InitDefaultHelpCmd()
	if help, _, err := root.Find([]string{"help"}); err == nil {
		help.Args = func(_ *cobra.Command, topic []string) error {
			if _, rest, err := root.Find(topic); err != nil || len(rest) > 0 {
				return unknown(root, topic...)
			}
			return nil
		}
	}
	return root
}

// unknown returns the error of a command that parent does not have, with the one that may have been
// meant.
func unknown(parent *cobra.Command, command ...string) error {
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
	return usage(fmt.Errorf("unknown command %q%s: see seckill help", strings.Join(command, " "), meant))
}

// nearestFlag names the flag of cmd that may have been meant, if err is that it has no such flag.
func nearestFlag(cmd *cobra.Command, err error) string {
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

func newVersion(c console) *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Example: "  seckill version",
		Args:    noArgs,
		RunE: func(*cobra.Command, []string) error {
			_, _ = fmt.Fprintln(c.out, versionText())
			return nil
		},
	}
}

// versionText is what version, --version and -v print.
func versionText() string {
	return fmt.Sprintf("seckill %s %s %s/%s", app.Version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

// noArgs refuses arguments, which are usually flags without their dashes.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usage(fmt.Errorf("%s takes no argument %q: see %s --help", cmd.CommandPath(), args[0], cmd.CommandPath()))
	}
	return nil
}

// configFlag adds --config and returns a function that reads the file and the
// environment, and the variables that other flags set over it.
func configFlag(cmd *cobra.Command, c console) func(variables ...string) (config.Config, error) {
	path := cmd.Flags().String("config", "", "YAML file; SECKILL_ variables go over it (default: embedded stores)")
	_ = cmd.MarkFlagFilename("config", "yaml", "yml")
	return func(variables ...string) (config.Config, error) {
		environ, err := app.ArmFaults(c.environ)
		if err != nil {
			return config.Config{}, usage(err)
		}
		for _, one := range variables {
			name, _, _ := strings.Cut(one, "=")
			environ = append(slices.DeleteFunc(slices.Clone(environ), func(is string) bool { return strings.HasPrefix(is, name+"=") }), one)
		}
		cfg, err := config.Load(*path, environ)
		if err != nil {
			return config.Config{}, usage(err)
		}
		return cfg, nil
	}
}
