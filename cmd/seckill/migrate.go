package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"example.com/seckill/cmd/seckill/internal/cli"
	"example.com/seckill/internal/app"
)

func newMigrate(c cli.Console) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "migrate",
		Short: "Bring the database's schema up to date",
		Long: `Applies the migrations that the configured database does not have. It needs only mysql.dsn:
neither a Redis nor a secret.`,
		Example: "  seckill migrate --config configs/production.yaml\n" +
			"  dsn='user:password@tcp(127.0.0.1:3306)/seckill'\n" +
			"  SECKILL_MYSQL__DSN=\"$dsn?timeout=2s&readTimeout=5s&writeTimeout=5s\" \\\n    seckill migrate",
		Args: cli.NoArgs,
	}
	load := c.DatabaseFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		cfg, err := load()
		if err != nil {
			return err
		}
		if cfg.MySQL.DSN == "" {
			return cli.Usage(errors.New("mysql.dsn is empty: the embedded database is migrated by itself; set SECKILL_MYSQL__DSN"))
		}
		s, err := app.OpenStore(cmd.Context(), cfg, app.NewLog(cfg.Log, c.LogOutput()))
		if err != nil {
			return err
		}
		applied, err := s.Migrate(cmd.Context())
		for _, name := range applied {
			_, _ = fmt.Fprintln(c.Out, "applied", name)
		}
		if err == nil && len(applied) == 0 {
			_, _ = fmt.Fprintln(c.Out, "the schema is up to date")
		}
		return errors.Join(err, s.Close())
	}
	return cmd
}
