package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"example.com/seckill/cmd/seckill/internal/cli"
	"example.com/seckill/internal/app"
)

func newRoot(c cli.Console) *cobra.Command {
	root := &cobra.Command{
		Use:   "seckill",
		Short: "A flash sale of coupons that sells exactly its stock",
		Long: `seckill is a flash sale of coupons: it never sells more than there is, never less
than it could, and never loses an order that it acknowledged.

Start with "seckill demo": a whole sale in this process, with nothing installed.`,
		Example:       "  seckill demo\n  seckill serve --config configs/seckill.yaml",
		Version:       app.VersionText(),
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cli.SubcommandOnly,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return cli.Usage(fmt.Errorf("%w: see %s --help", cli.FlagError(cmd, err), cmd.CommandPath()))
	})
	root.SetVersionTemplate("{{.Version}}\n")
	root.CompletionOptions.HiddenDefaultCmd = false
	root.AddCommand(newServe(c), newDemo(c), newCheck(c), newHealth(c), newRush(c),
		newAudit(c), newArchive(c), newLab(c), newMigrate(c), newSeed(c), newToken(c), newVersion(c))
	root.AddCommand(extraCommands(c)...)
	cli.WrapHelp(root)
	cli.CompleteNothing(root)
	root.InitDefaultHelpCmd()
	if help, _, err := root.Find([]string{"help"}); err == nil {
		help.Args = func(_ *cobra.Command, topic []string) error {
			if _, rest, err := root.Find(topic); err != nil || len(rest) > 0 {
				return cli.Unknown(root, topic...)
			}
			return nil
		}
	}
	return root
}

func newVersion(c cli.Console) *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Example: "  seckill version",
		Args:    cli.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, _ = fmt.Fprintln(c.Out, app.VersionText())
			return nil
		},
	}
}
