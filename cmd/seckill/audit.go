package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"seckill/internal/app"
	"seckill/internal/audit"
)

func newAudit(c console) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "audit",
		Short: "Compare Redis with the database, and print every invariant with its numbers",
		Long: `Reads the configured Redis and database and prints every invariant. The exit code is 1
if one is violated, or nothing could be audited. --repair mends what is safe to mend; doing it twice is doing it once.`,
		Example: "  seckill audit --config configs/production.yaml\n  seckill audit --coupon 7 --repair",
		Args:    noArgs,
	}
	load := configFlag(cmd, c)
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
			return usage(errors.New("embedded stores live in the process that serves: " +
				"ask its /api/v1/admin/coupons/{id}/audit, or set mysql.dsn and redis.addrs"))
		}
		ctx := cmd.Context()
		a, err := app.OpenCore(ctx, cfg, app.NewLog(cfg.Log, c.logOutput()))
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
		check := a.Auditor.Audit
		if *repair {
			check = a.Auditor.Repair
		}
		return auditAll(ctx, c, ids, check, *asJSON)
	}
	return cmd
}

func couponIDs(text string) ([]int64, error) {
	if text == "" {
		return nil, nil
	}
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil || id <= 0 {
		return nil, usage(fmt.Errorf("--coupon: %q is no coupon id", text))
	}
	return []int64{id}, nil
}

func auditAll(ctx context.Context, c console, ids []int64,
	check func(ctx context.Context, id int64) (audit.Report, error), asJSON bool,
) error {
	clean, failed := true, error(nil)
	for _, id := range ids {
		report, err := check(ctx, id)
		if err != nil { // the others are audited all the same
			failed = errors.Join(failed, fmt.Errorf("coupon %d was not audited: %w", id, err))
			if ctx.Err() != nil {
				return failed
			}
			continue
		}
		clean = clean && report.Clean
		if err := report.Print(c.out, asJSON); err != nil {
			return err
		}
	}
	if failed == nil && !clean {
		return errSilent
	}
	return failed
}
