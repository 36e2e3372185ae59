// Package demo plays a whole sale in one process: the application on embedded stores, and buyers who rush
// in over real HTTP.
//
//	Demo ─▶ app.Server ◀─ HTTP ─ rush: the sale's buyers, then visitors
//	page ─▶ Runner ─────────────▶ rush: the buyers that a person sends from the page
package demo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"example.com/seckill/internal/api/auth"
	"example.com/seckill/internal/app"
	"example.com/seckill/internal/config"
	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/tools/gallery"
	"example.com/seckill/internal/tools/rush"
)

// Demo is a whole sale in this process. The application has embedded stores, and the buyers rush in over
// real HTTP.
type Demo struct {
	Users, Shards, Limit int
	Stock                int64
	KeepServing          bool
	Style                rush.Style // of the report

	StartsIn time.Duration // before the sale begins
	Awaits   bool          // StartsIn starts with the first page, or after viewerWait
	Rate     float64       // requests per second; 0 is as fast as it goes

	BackgroundRate int // requests per second after a kept sale, until they are stopped

	Addr   string           // of the page and the API, as host:port; "" is a free port
	Opened func(url string) // called when the page can be opened; may be nil

	NewDesign app.NewDesign // makes the orders instead of the order service; may be nil

	NewLab        func(plays bool) app.Lab
	Out, Err, Log io.Writer // the report, its progress, and the log

	ready func(context.Context) error // called before the first buyer; may be nil
	done  func()                      // called after the last answer; may be nil
}

// Pace slows the sale down so that people can watch it. It changes only the values whose flags are not set.
// The sale then has a countdown, five seconds in which the stock falls, and at most twenty seconds of
// rejections.
func (d *Demo) Pace(changed func(flag string) bool) {
	if !changed("starts-in") {
		d.StartsIn, d.Awaits = 8*time.Second, true
	}
	if !changed("users") {
		d.Users = int(min(plenty*d.Stock, int64(d.Users)))
	}
	if !changed("rate") {
		d.Rate = max(float64(d.Stock)/5, float64(d.Users)/15, 50)
	}
}

func (d *Demo) config() (config.Config, error) {
	cfg := config.Default()
	cfg.HTTP.Addr, cfg.Admin.Addr = cmp.Or(d.Addr, "127.0.0.1:0"), "127.0.0.1:0"
	cfg.Stock.Shards = d.Shards
	cfg.Log.Level = "warn"
	if d.KeepServing {
		cfg.Order.PaymentTimeout = visitorsPayWithin
	}
	switch {
	case d.Users < 1 || d.Users > 1_000_000:
		return cfg, app.Usage(errors.New("--users must be from 1 to 1000000"))
	case d.Stock < 1 || d.Stock > coupon.MaxStock:
		return cfg, app.Usage(fmt.Errorf("--stock must be from 1 to %d", coupon.MaxStock))
	case d.Limit < 1 || d.Limit > coupon.MaxLimit:
		return cfg, app.Usage(fmt.Errorf("--limit must be from 1 to %d", coupon.MaxLimit))
	case d.StartsIn < 0 || d.StartsIn > time.Hour:
		return cfg, app.Usage(errors.New("--starts-in must be from 0s to 1h"))
	case d.Rate < 0:
		return cfg, app.Usage(errors.New("--rate cannot be negative"))
	case d.BackgroundRate < 0 || d.BackgroundRate > 10_000:
		return cfg, app.Usage(errors.New("--background-rate must be from 0 to 10000"))
	case !config.IsHostPort(cfg.HTTP.Addr):
		return cfg, app.Usage(fmt.Errorf("--addr %q must be host:port, such as 127.0.0.1:8080, with a port from 0 to 65535", d.Addr))
	case d.Shards < 1 || d.Shards > 1024:
		return cfg, app.Usage(errors.New("--shards must be from 1 to 1024"))
	}
	return cfg, nil
}

// visitorsPayWithin is the time that an order of a kept sale waits for its payment. It is short, so that
// people see units come back.
const visitorsPayWithin = 2 * time.Minute

// Run plays the sale. It returns rush.ErrViolated if the report lists a violation, and an
// error if units are left that could have been sold.
func (d *Demo) Run(ctx context.Context) (err error) {
	cfg, err := d.config()
	if err != nil {
		return err
	}
	var rushes *Runner
	newRush := func(s *app.Server) app.Rush {
		rushes = NewRunner(s)
		return rushes
	}
	s, err := app.Start(ctx, cfg, app.NewLog(cfg.Log, d.Log), app.Options{
		NewLab: d.NewLab, Gallery: gallery.Files, NewRush: newRush, NewDesign: d.NewDesign,
	})
	if taken, ok := errors.AsType[*app.ListenError](err); ok { // the environment is not for the demo
		return fmt.Errorf("%w: choose another address with --addr", taken.Err)
	}
	if err != nil {
		return err
	}
	defer func() {
		if stopped := s.Stop(context.WithoutCancel(ctx)); stopped != nil {
			err = errors.Join(err, fmt.Errorf("stop: %w", stopped))
		}
	}()
	if err := d.open(ctx, s); err != nil {
		return err
	}
	report, err := d.sell(ctx, s)
	if err != nil {
		return err
	}
	if err := report.Print(d.Out, d.Style); err != nil {
		return err
	}
	if d.KeepServing && ctx.Err() == nil {
		if err := d.keep(ctx, s, rushes); err != nil {
			return err
		}
	}
	if err := report.Verdict(true); err != nil {
		return err
	}
	return d.checkUndersold(report)
}

// open puts the coupon on sale, and waits until the sale begins.
func (d *Demo) open(ctx context.Context, s *app.Server) error {
	begins := time.Now().Add(d.StartsIn)
	if d.Awaits {
		begins = begins.Add(viewerWait)
	}
	err := s.Sell(ctx, coupon.Coupon{
		Title: "Flash sale", Total: d.Stock, LimitPerUser: d.Limit, PriceCents: 990,
		BeginsAt: begins.Add(-time.Millisecond), EndsAt: begins.Add(window),
	})
	if err != nil {
		return err
	}
	crowd := rush.Options{Users: d.Users, DoubleTapEvery: doubleTapEvery}
	d.say("%s\n\n%s\n\n", crowd.Heading(int(d.Stock), d.Limit), s.URL)
	if d.Opened != nil {
		d.Opened(s.URL)
	}
	if d.StartsIn == 0 {
		return nil
	}
	if d.Awaits {
		if begins, err = d.countDown(ctx, s); err != nil {
			return err
		}
	} else {
		d.say("Open the page: the sale begins in %s.\n\n", time.Until(begins).Round(time.Second))
	}
	select {
	case <-time.After(time.Until(begins)):
		return nil
	case <-ctx.Done():
		return errors.New("stopped before the sale began")
	}
}

// window is how long the sale is open.
const window = 24 * time.Hour

// say prints for people. With --json, the demo prints only the report.
func (d *Demo) say(format string, values ...any) {
	if !d.Style.JSON {
		_, _ = fmt.Fprintf(d.Out, format, values...)
	}
}

// keep serves the page until ctx ends. It adds visitors if the flags ask for them.
func (d *Demo) keep(ctx context.Context, s *app.Server, rushes *Runner) error {
	s.PrintBanner(d.Out)
	if d.BackgroundRate > 0 {
		if err := rushes.visit(1, d.BackgroundRate); err != nil {
			return err
		}
		_, _ = fmt.Fprintf(d.Out, "Buyers go on coming, %d requests a second, until you stop them on the page.\n", d.BackgroundRate)
	}
	_, _ = fmt.Fprintln(d.Out, "Ctrl-C ends the program.")
	return s.Wait(ctx)
}

// doubleTapEvery is the part of the buyers who try twice.
const doubleTapEvery = 3

// sell sends the buyers, and later buyers if units come back.
func (d *Demo) sell(ctx context.Context, s *app.Server) (rush.Report, error) {
	admin, err := s.Token(1, auth.RoleAdmin)
	if err != nil {
		return rush.Report{}, err
	}
	o := rush.Options{
		URL: s.URL, AdminURL: s.AdminURL(), Users: d.Users, Rate: d.Rate, DoubleTapEvery: doubleTapEvery, Keys: true,
		Token: s.UserToken, AdminToken: admin, Home: coupon.Home, ProgressOutput: d.Err, Version: app.Version(),
		Ready: d.ready, Done: d.done,
	}
	report, err := rush.Run(ctx, o)
	if err != nil {
		return report, err
	}
	return d.sellReturned(ctx, report, o, rush.Run)
}

// plenty is the demand, in requests per unit, at which all of the stock must sell.
const plenty = 3

// lateRounds bounds the rounds of later buyers. lateBuyers is the number of later buyers in addition to one
// per unit left.
const (
	lateRounds = 3
	lateBuyers = 20
)

// sellReturned sends later buyers for the units that are left although the demand was plenty. On a very
// busy machine, calls run into their timeouts and leave holds open. The units of these holds come back to
// the shards after the last buyer has gone: rush.Run returns when no hold is open any more.
func (d *Demo) sellReturned(ctx context.Context, r rush.Report, o rush.Options,
	play func(context.Context, rush.Options) (rush.Report, error),
) (rush.Report, error) {
	o.FirstUser, o.Rate, o.Ready, o.Done = int64(d.Users)+1, 0, nil, nil
	for range lateRounds {
		if d.checkUndersold(r) == nil || r.Stopped || !r.Clean() {
			return r, nil
		}
		left := int(d.Stock) - r.Committed
		o.Users = left + lateBuyers
		later, err := play(ctx, o)
		if err != nil {
			return r, err
		}
		r = r.With(later, fmt.Sprintf("%d units came back from holds that were left open, after the last buyer had gone: "+
			"%d later buyers bought %d of them, and are counted above but not in the times", left, o.Users, later.Committed))
		o.FirstUser += int64(o.Users)
	}
	return r, nil
}

// checkUndersold returns an error if units are left although the demand was plenty. It checks the other
// half of the promise.
func (d *Demo) checkUndersold(r rush.Report) error {
	if int64(d.Users) >= plenty*d.Stock && int64(r.Committed) < d.Stock {
		return fmt.Errorf("undersold: %d of %d units were sold to %d buyers", r.Committed, d.Stock, d.Users)
	}
	return nil
}
