package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"seckill/internal/audit"
)

func newAudit(c console) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "audit",
		Short: "Compare Redis with the database, and print every invariant with its numbers",
		Long: `Reads the configured Redis and database and prints every invariant. The exit code is 1
if one is violated. --repair mends what is safe to mend; doing it twice is doing it once.`,
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
		a, err := openCore(ctx, cfg, newLog(cfg.Log, c.err), anyServers)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, a.close(context.WithoutCancel(ctx))) }()
		if ids == nil {
			if ids, err = a.soldIDs(ctx); err != nil {
				return err
			}
			if len(ids) == 0 {
				_, _ = fmt.Fprintln(c.err, "no coupon's stock was ever loaded: nothing to audit")
			}
		}
		check := a.auditor.Audit
		if *repair {
			check = a.auditor.Repair
		}
		return auditAll(ctx, c, ids, check, *asJSON)
	}
	return cmd
}

// couponPage is how many coupons are read at once.
const couponPage = 1000

// soldIDs lists the coupons whose stock was ever loaded, however long ago they ended:
// only they have orders.
func (a *app) soldIDs(ctx context.Context) ([]int64, error) {
	ids := []int64{}
	for after, more := int64(0), true; more; {
		page, err := a.store.Coupons().List(ctx, after, couponPage)
		if err != nil {
			return nil, err
		}
		for _, one := range page {
			if after = one.ID; one.Epoch > 0 {
				ids = append(ids, one.ID)
			}
		}
		more = len(page) == couponPage
	}
	return ids, nil
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
	clean := true
	var failed error
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
		if asJSON {
			err = json.NewEncoder(c.out).Encode(report)
		} else {
			err = report.WriteText(c.out)
		}
		if err != nil {
			return fmt.Errorf("print the report: %w", err)
		}
	}
	if failed == nil && !clean {
		return errSilent
	}
	return failed
}
