package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"example.com/seckill/cmd/seckill/internal/cli"
	"example.com/seckill/internal/app"
	"example.com/seckill/internal/audit"
)

func newAudit(c cli.Console) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "audit",
		Short: "Compare Redis with the database and print every invariant",
		Long: `Reads the configured Redis and database and prints every invariant. The exit code is 1
if one is violated, or nothing could be audited. --repair mends what is safe to mend; doing it twice is doing it once.`,
		Example: "  seckill audit --config configs/production.yaml\n  seckill audit --coupon 7 --repair",
		Args:    cli.NoArgs,
	}
	load := c.ConfigFlag(cmd)
	id := cmd.Flags().String("coupon", "", "the coupon's id (default: all whose stock was ever loaded)")
	repair := cmd.Flags().Bool("repair", false, "mend what is safe to mend")
	asJSON := cmd.Flags().Bool("json", false, "print one JSON object a coupon")
	cmd.RunE = func(cmd *cobra.Command, _ []string) (err error) {
		ids, err := couponIDs(*id)
		if err != nil {
			return err
		}
		cfg, err := load()
		if err != nil {
			return err
		}
		if cfg.Embedded() {
			return cli.Usage(errors.New("embedded stores live in the process that serves: " +
				"ask its /api/v1/admin/coupons/{id}/audit, or set mysql.dsn and redis.addrs"))
		}
		ctx := cmd.Context()
		a, err := app.OpenCore(ctx, cfg, app.NewLog(cfg.Log, c.LogOutput()))
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, a.Close(context.WithoutCancel(ctx))) }()
		if ids == nil {
			if ids, err = a.SoldCoupons(ctx); err != nil {
				return err
			}
			if len(ids) == 0 {
				return errors.New("nothing was audited: no coupon's stock was ever loaded")
			}
		}
		check, atOnce := a.Auditor.Audit, audit.AtOnce
		if *repair {
			check, atOnce = a.Auditor.Repair, 1
		}
		switch clean, err := audit.All(ctx, c.Out, ids, atOnce, check, *asJSON); {
		case err != nil:
			return err
		case !clean:
			return cli.ErrSilent
		}
		return nil
	}
	return cmd
}

func couponIDs(text string) ([]int64, error) {
	if text == "" {
		return nil, nil
	}
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil || id <= 0 {
		return nil, cli.Usage(fmt.Errorf("--coupon: %q is no coupon id", text))
	}
	return []int64{id}, nil
}
