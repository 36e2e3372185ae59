package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"seckill/internal/app"
)

func newMigrate(c console) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "migrate",
		Short:   "Bring the database's schema up to date",
		Example: "  SECKILL_MYSQL__DSN='user:password@tcp(127.0.0.1:3306)/seckill?timeout=2s&readTimeout=5s&writeTimeout=5s' seckill migrate",
		Args:    noArgs,
	}
	load := configFlag(cmd, c)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		cfg, err := load()
		if err != nil {
			return err
		}
		if cfg.MySQL.DSN == "" {
			return usage(errors.New("mysql.dsn is empty: the embedded database is migrated by itself; set SECKILL_MYSQL__DSN"))
		}
		s, err := app.OpenStore(cmd.Context(), cfg, app.NewLog(cfg.Log, c.logOutput()))
		if err != nil {
			return err
		}
		applied, err := s.Migrate(cmd.Context())
		for _, name := range applied {
			_, _ = fmt.Fprintln(c.out, "applied", name)
		}
		if err == nil && len(applied) == 0 {
			_, _ = fmt.Fprintln(c.out, "the schema is up to date")
		}
		return errors.Join(err, s.Close())
	}
	return cmd
}
