package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"seckill/internal/api"
	"seckill/internal/config"
	"seckill/internal/coupon"
	"seckill/internal/rush"
)

// sale is what the demo shows.
type sale struct {
	users, shards, limit int
	stock                int64
	keep, json           bool
}

func newDemo(c console) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "A whole flash sale in this process, over real HTTP, with nothing installed",
		Long: `Starts the application with embedded stores on a free port, lets simulated buyers
rush in over HTTP, every third of them tapping twice, and audits the result.
The exit code is 0 only if the audit is clean.`,
		Example: "  seckill demo\n  seckill demo --users 20000 --stock 1000 --limit 2 --keep",
		Args:    noArgs,
	}
	var d sale
	f := cmd.Flags()
	f.IntVar(&d.users, "users", 10_000, "how many buyers come")
	f.Int64Var(&d.stock, "stock", 500, "units on sale")
	f.IntVar(&d.shards, "shards", 8, "Redis counters that the stock is split over")
	f.IntVar(&d.limit, "limit", 1, "units that one user may buy")
	f.BoolVar(&d.keep, "keep", false, "go on serving the page afterwards, until Ctrl-C")
	f.BoolVar(&d.json, "json", false, "print the report as one JSON object")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return d.run(cmd.Context(), c) }
	return cmd
}

func (d sale) config() (config.Config, error) {
	cfg := config.Default()
	cfg.HTTP.Addr, cfg.Admin.Addr = "127.0.0.1:0", "127.0.0.1:0"
	cfg.Stock.Shards = d.shards
	cfg.Log.Level = "warn"
	switch {
	case d.users < 1 || d.users > 1_000_000:
		return cfg, usage(errors.New("--users must be from 1 to 1000000"))
	case d.stock < 1 || d.stock > coupon.MaxStock:
		return cfg, usage(fmt.Errorf("--stock must be from 1 to %d", coupon.MaxStock))
	case d.limit < 1 || d.limit > coupon.MaxLimit:
		return cfg, usage(fmt.Errorf("--limit must be from 1 to %d", coupon.MaxLimit))
	case d.shards < 1 || d.shards > 1024:
		return cfg, usage(errors.New("--shards must be from 1 to 1024"))
	}
	return cfg, nil
}

func (d sale) run(ctx context.Context, c console) (err error) {
	cfg, err := d.config()
	if err != nil {
		return err
	}
	s, err := startServer(ctx, cfg, newLog(cfg.Log, c.err))
	if err != nil {
		return err
	}
	defer func() {
		if stopped := s.stop(context.WithoutCancel(ctx)); stopped != nil {
			err = errors.Join(err, fmt.Errorf("stop: %w", stopped))
		}
	}()
	now := time.Now()
	err = s.sell(ctx, coupon.Coupon{
		Title: "Flash sale", Total: d.stock, LimitPerUser: d.limit, PriceCents: 990,
		BeginsAt: now.Add(-time.Second), EndsAt: now.Add(24 * time.Hour),
	})
	if err != nil {
		return err
	}
	admin, err := s.token(1, api.RoleAdmin)
	if err != nil {
		return err
	}
	if !d.json {
		_, _ = fmt.Fprintf(c.out, "%s\n%d buyers, %d units over %d shards, %d per user, every third buyer taps twice\n\n",
			s.url, d.users, d.stock, d.shards, d.limit)
	}
	report, err := rush.Run(ctx, rush.Options{
		URL: s.url, Users: d.users, DoubleTapEvery: 3, Keys: true,
		Token: rush.Signed(s.app.cfg.Auth.Secret.Reveal()), AdminToken: admin, Progress: c.err,
	})
	if err != nil {
		return err
	}
	if err := show(c, report, d.json); err != nil {
		return err
	}
	if d.keep && ctx.Err() == nil {
		s.greet(c)
		select {
		case <-ctx.Done():
		case failed := <-s.failed:
			return failed
		}
	}
	if err := verdict(report); err != nil {
		return err
	}
	return d.soldWhatItCould(report)
}

// plenty is how many times the stock must be asked for to be sure that all of it is
// wanted: a user who is turned away may have been the last but one to come.
const plenty = 3

// soldWhatItCould is the other half of the promise: with plenty of demand nothing is
// left over.
func (d sale) soldWhatItCould(r rush.Report) error {
	if int64(d.users) >= plenty*d.stock && int64(r.Committed) < d.stock {
		return fmt.Errorf("undersold: %d of %d units were sold to %d buyers", r.Committed, d.stock, d.users)
	}
	return nil
}
