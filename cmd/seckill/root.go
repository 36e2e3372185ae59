package main

import (
	"fmt"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

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
		SilenceErrors: true,
		SilenceUsage:  true,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknown(args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetOut(c.out)
	root.SetErr(c.err)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usage(fmt.Errorf("%w: see %s --help", err, cmd.CommandPath()))
	})
	root.CompletionOptions.HiddenDefaultCmd = false
	root.AddCommand(newServe(c), newDemo(c), newCheck(c), newRush(c),
		newAudit(c), newArchive(c), newLab(c), newMigrate(c), newToken(c), newVersion(c))
	root.AddCommand(extraCommands(c)...)
	root.InitDefaultHelpCmd()
	if help, _, err := root.Find([]string{"help"}); err == nil {
		help.Args = func(_ *cobra.Command, topic []string) error {
			if _, rest, err := root.Find(topic); err != nil || len(rest) > 0 {
				return unknown(topic...)
			}
			return nil
		}
	}
	return root
}

func unknown(command ...string) error {
	return usage(fmt.Errorf("unknown command %q: see seckill help", strings.Join(command, " ")))
}

func newVersion(c console) *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Example: "  seckill version",
		Args:    noArgs,
		RunE: func(*cobra.Command, []string) error {
			_, _ = fmt.Fprintf(c.out, "seckill %s %s %s/%s\n", app.Version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return nil
		},
	}
}

// noArgs refuses arguments, which are usually flags without their dashes.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usage(fmt.Errorf("%s takes no argument %q: see %s --help", cmd.CommandPath(), args[0], cmd.CommandPath()))
	}
	return nil
}

// configFlag adds --config and returns a function that reads the file and the
// environment.
func configFlag(cmd *cobra.Command, c console) func() (config.Config, error) {
	path := cmd.Flags().String("config", "", "YAML file; SECKILL_ variables go over it (default: embedded stores)")
	return func() (config.Config, error) {
		environ, err := app.ArmFaults(c.environ)
		if err != nil {
			return config.Config{}, usage(err)
		}
		cfg, err := config.Load(*path, environ)
		if err != nil {
			return config.Config{}, usage(err)
		}
		return cfg, nil
	}
}
