package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"seckill/internal/api"
	"seckill/internal/app"
	"seckill/internal/config"
	"seckill/internal/coupon"
	"seckill/internal/rush"
)

// sale is the sale that the demo plays.
type sale struct {
	users, shards, limit int
	stock                int64
	keep, json           bool

	opensIn time.Duration // before the sale begins
	rate    float64       // taps per second; 0 is as fast as it goes
}

func newDemo(c console) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "A whole flash sale in this process, over real HTTP, with nothing installed",
		Long: `Starts the application with embedded stores on a free port, lets simulated buyers
rush in over HTTP, every third of them tapping twice, and audits the result.
The exit code is 0 only if the audit is clean.

With --keep the sale is one to watch on the page: it begins a few seconds after the
address is printed, with fewer buyers unless --users says how many, who come one after
the other, and the page stays until Ctrl-C.`,
		Example: "  seckill demo\n  seckill demo --users 20000 --stock 1000 --limit 2 --keep",
		Args:    noArgs,
	}
	var d sale
	f := cmd.Flags()
	f.IntVar(&d.users, "users", 10_000, "how many buyers come")
	f.Int64Var(&d.stock, "stock", 500, "units on sale")
	f.IntVar(&d.shards, "shards", 8, "Redis counters that the stock is split over")
	f.IntVar(&d.limit, "limit", 1, "units that one user may buy")
	f.BoolVar(&d.keep, "keep", false, "a sale to be watched on the page, which is served until Ctrl-C")
	f.DurationVar(&d.opensIn, "opens-in", 0, "how long before the sale begins (default 8s with --keep)")
	f.Float64Var(&d.rate, "rate", 0, "taps per second, 0 is as fast as it goes (with --keep: for five seconds of stock)")
	f.BoolVar(&d.json, "json", false, "print the report as one JSON object")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if d.keep {
			d.pace(cmd.Flags().Changed)
		}
		return d.run(cmd.Context(), c)
	}
	return cmd
}

// pace makes the sale slow enough to be watched, as far as flags do not say otherwise: a
// countdown, five seconds in which the stock falls, and at most twenty of refusals.
func (d *sale) pace(changed func(flag string) bool) {
	if !changed("opens-in") {
		d.opensIn = 8 * time.Second
	}
	if !changed("users") {
		d.users = int(min(plenty*d.stock, int64(d.users)))
	}
	if !changed("rate") {
		d.rate = max(float64(d.stock)/5, float64(d.users)/15, 50)
	}
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
	case d.opensIn < 0 || d.opensIn > time.Hour:
		return cfg, usage(errors.New("--opens-in must be from 0s to 1h"))
	case d.rate < 0:
		return cfg, usage(errors.New("--rate cannot be negative"))
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
	s, err := app.Start(ctx, cfg, newLog(cfg.Log, c.err), options())
	if err != nil {
		return err
	}
	defer func() {
		if stopped := s.Stop(context.WithoutCancel(ctx)); stopped != nil {
			err = errors.Join(err, fmt.Errorf("stop: %w", stopped))
		}
	}()
	begins := time.Now().Add(d.opensIn)
	err = s.Sell(ctx, coupon.Coupon{
		Title: "Flash sale", Total: d.stock, LimitPerUser: d.limit, PriceCents: 990,
		BeginsAt: begins.Add(-time.Millisecond), EndsAt: begins.Add(24 * time.Hour),
	})
	if err != nil {
		return err
	}
	admin, err := s.Token(1, api.RoleAdmin)
	if err != nil {
		return err
	}
	if !d.json {
		_, _ = fmt.Fprintf(c.out, "%s\n%d buyers, %d units over %d shards, %d per user, every third buyer taps twice\n\n",
			s.URL, d.users, d.stock, d.shards, d.limit)
	}
	if d.opensIn > 0 {
		if !d.json {
			_, _ = fmt.Fprintf(c.out, "open the page: the sale begins in %s\n\n", time.Until(begins).Round(time.Second))
		}
		select {
		case <-time.After(time.Until(begins)):
		case <-ctx.Done():
			return errors.New("stopped before the sale began")
		}
	}
	report, err := rush.Run(ctx, rush.Options{
		URL: s.URL, Users: d.users, Rate: d.rate, DoubleTapEvery: 3, Keys: true,
		Token: rush.Signed(s.Secret()), AdminToken: admin, ProgressOutput: c.err,
	})
	if err != nil {
		return err
	}
	if err := c.print(report, d.json); err != nil {
		return err
	}
	if d.keep && ctx.Err() == nil {
		printBanner(c, s)
		_, _ = fmt.Fprintln(c.out, "Ctrl-C ends it")
		if err := s.Wait(ctx); err != nil {
			return err
		}
	}
	if err := verdict(report, true); err != nil {
		return err
	}
	return d.checkUndersold(report)
}

// plenty is how many times the stock must be requested to be sure that all of it sells.
const plenty = 3

// checkUndersold returns an error if units are left although the demand was plenty: the other
// half of the promise.
func (d sale) checkUndersold(r rush.Report) error {
	if int64(d.users) >= plenty*d.stock && int64(r.Committed) < d.stock {
		return fmt.Errorf("undersold: %d of %d units were sold to %d buyers", r.Committed, d.stock, d.users)
	}
	return nil
}
