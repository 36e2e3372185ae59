package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"example.com/seckill/cmd/seckill/internal/cli"
	"example.com/seckill/internal/app"
)

func newArchive(c cli.Console) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "archive",
		Short: "Move the orders of sales that ended long ago out of the way",
		Long: `Moves the orders of ended sales to the table orders_archive, deletes their void requests
and the fences of users without other orders. It works in steps of 500 rows and rests
after each for as long as that took, so it can run beside a sale; it may be stopped at
any time and goes on when it is run again.

A sale is archived when by the database's clock it ended longer ago than --older-than, its shards in Redis are
freed (serve does that a day after the end) and no unit is owed to them; an order that
waits for its payment stays. An archived order is still shown to its owner by its id and counted by the
audit; it is not in the list of the owner's orders, and not found by its idempotency key.

Rows of lock keys that were not taken for as long are deleted too (lock.backend mysql and
redlock keep one for each key).`,
		Example: "  seckill archive --config configs/production.yaml --older-than 2160h",
		Args:    cli.NoArgs,
	}
	load := c.ConfigFlag(cmd)
	age := cmd.Flags().Duration("older-than", 90*24*time.Hour, "the time since the end of a sale, 48h at least")
	cmd.RunE = func(cmd *cobra.Command, _ []string) (err error) {
		cfg, err := load()
		if err != nil {
			return err
		}
		switch {
		case cfg.MySQL.DSN == "":
			return cli.Usage(errors.New("mysql.dsn is empty: the embedded database is gone at exit and needs no archive"))
		case *age < app.ArchiveAfter:
			return cli.Usage(fmt.Errorf("--older-than must be %s at least", app.ArchiveAfter))
		}
		s, err := app.OpenStore(cmd.Context(), cfg, app.NewLog(cfg.Log, c.LogOutput()))
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, s.Close()) }()
		if err := s.CheckSchema(cmd.Context()); err != nil {
			return err
		}
		return app.Archive(cmd.Context(), s, *age, c.Out)
	}
	return cmd
}
