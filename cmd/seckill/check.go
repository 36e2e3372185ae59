package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"example.com/seckill/cmd/seckill/internal/cli"
	"example.com/seckill/internal/app"
	"example.com/seckill/internal/platform/preflight"
)

func newCheck(c cli.Console) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Look at the configured servers, and say what is wrong with them",
		Long: `Looks at Redis, in a Cluster at every primary, and at the database as serve does at its
start, and prints one line for each thing: fine, warning or refused, and what to do.
The exit code is 1 if something is refused: then serve does not start.`,
		Example: "  seckill check --config configs/seckill.yaml",
		Args:    cli.NoArgs,
	}
	load := c.ConfigFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		cfg, err := load()
		if err != nil {
			return err
		}
		if cfg.Embedded() {
			return cli.Usage(errors.New("embedded stores have nothing to look at: set mysql.dsn and redis.addrs"))
		}
		var found preflight.Findings
		if err := app.Check(cmd.Context(), cfg, app.NewLog(cfg.Log, c.LogOutput()), &found); err != nil {
			return err
		}
		if err := found.WriteText(c.Out); err != nil {
			return fmt.Errorf("print what was found: %w", err)
		}
		if found.Err() != nil {
			return cli.ErrSilent
		}
		return nil
	}
	return cmd
}
