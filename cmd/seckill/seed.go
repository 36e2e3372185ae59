package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"example.com/seckill/cmd/seckill/internal/cli"
	"example.com/seckill/internal/app"
	"example.com/seckill/internal/coupon"
)

func newSeed(c cli.Console) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "seed",
		Short: "Put a first coupon on sale if there is none",
		Long: `Creates a coupon in the configured stores and puts it on sale, for a first look at a new
deployment. If the database has a coupon, seed changes nothing, so you may run it at each start.
Run migrate first.`,
		Example: "  seckill seed --config configs/production.yaml\n  seckill seed --stock 500 --lasts 2h",
		Args:    cli.NoArgs,
	}
	load := c.ConfigFlag(cmd)
	stock := cmd.Flags().Int64("stock", 1000, "units of the coupon")
	limit := cmd.Flags().Int("limit", 1, "units that one user may buy")
	lasts := cmd.Flags().Duration("lasts", 30*24*time.Hour, "time from now to the end of the sale")
	cmd.RunE = func(cmd *cobra.Command, _ []string) (err error) {
		switch {
		case *lasts <= 0:
			return cli.Usage(errors.New("--lasts must be above zero"))
		case *stock < 1 || *stock > coupon.MaxStock:
			return cli.Usage(fmt.Errorf("--stock must be from 1 to %d", coupon.MaxStock))
		case *limit < 1 || *limit > coupon.MaxLimit:
			return cli.Usage(fmt.Errorf("--limit must be from 1 to %d", coupon.MaxLimit))
		}
		first := app.FirstCoupon(*stock, *limit, *lasts)
		if err := first.Validate(); err != nil {
			return cli.Usage(err)
		}
		cfg, err := load()
		if err != nil {
			return err
		}
		if cfg.Embedded() {
			return cli.Usage(errors.New("embedded stores have a coupon on sale: set mysql.dsn and redis.addrs"))
		}
		ctx := cmd.Context()
		a, err := app.OpenCore(ctx, cfg, app.NewLog(cfg.Log, c.LogOutput()))
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, a.Close(context.WithoutCancel(ctx))) }()
		return a.Seed(ctx, first, c.Out)
	}
	return cmd
}
