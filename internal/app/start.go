package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"example.com/seckill/internal/api"
	"example.com/seckill/internal/api/auth"
	"example.com/seckill/internal/config"
	"example.com/seckill/internal/coupon"
)

// Options are what the program adds to the configuration.
type Options struct {
	NewLab       func(plays bool) Lab // of the page; it plays with embedded stores; nil has none
	Gallery      api.Gallery          // of the page; nil has none
	NewRush      func(*Server) Rush   // the page's load generator, with embedded stores; nil has none
	DroppedLines func() int           // of the log, for the metrics; nil has none
	NewDesign    NewDesign            // makes the orders instead of the order service; may be nil
}

// Rush sends buyers to the server until it is closed.
type Rush interface {
	api.Rush
	Close() error
}

// Lab plays experiments until it is closed.
type Lab interface {
	api.Lab
	Close() error
}

// embeddedTimeout is the least timeout of a request with embedded stores, and embeddedDrainDelay the
// longest http.drain_delay.
const (
	embeddedTimeout    = 8 * time.Second
	embeddedDrainDelay = time.Second
)

// Start opens the listeners, builds the app and serves.
func Start(ctx context.Context, cfg config.Config, log *slog.Logger, o Options) (*Server, error) {
	if err := cfg.ValidateServing(); err != nil {
		return nil, Usage(err)
	}
	// A generated secret is unknown, so the demo login is the only way to a token.
	if made := cfg.FillDevelopment(); len(made) > 0 {
		cfg.Auth.DemoLogin, cfg.RateLimit.Logins = true, 0 // the workload logs in from one address
		log.Info("development mode: generated for this run", "keys", made, "demo_login", true)
	}
	if cfg.Embedded() {
		// The stores share this machine with the program, and often with the workload: one
		// that has not answered yet is busy and not down.
		cfg.HTTP.RequestTimeout = max(cfg.HTTP.RequestTimeout, embeddedTimeout)
		cfg.Redis.Timeout = max(cfg.Redis.Timeout, embeddedTimeout)
		cfg.HTTP.DrainDelay = min(cfg.HTTP.DrainDelay, embeddedDrainDelay) // no load balancer asks
	}
	l, err := listen(ctx, cfg, log)
	if err != nil {
		return nil, err
	}
	a, err := openApp(ctx, cfg, log, o.NewDesign)
	if err != nil {
		return nil, errors.Join(err, l.close())
	}
	if a.embedded != nil {
		log.Info(a.embedded.Notice())
	}
	s, err := newServer(a, l, o)
	if err != nil {
		return nil, errors.Join(err, a.Close(context.WithoutCancel(ctx)))
	}
	if o.DroppedLines != nil {
		a.metrics.WatchLog(o.DroppedLines)
	}
	s.adminAddr = l.admin.Addr().String()
	for _, warning := range cfg.Warnings() { // a start that fails says one thing
		log.Warn(warning)
	}
	a.warn(ctx)
	return s, nil
}

// LogServing logs the addresses. It comes last in a start, so that a client that waits for
// the line finds the demonstration's coupon on sale.
func (s *Server) LogServing() {
	s.app.log.Info("serving", "url", s.URL, "admin", s.adminAddr, "version", Version(), "instance", s.app.fleet.Name())
}

// OpenDemoSale puts one coupon on sale, with the id 1.
func (s *Server) OpenDemoSale(ctx context.Context) error {
	return s.Sell(ctx, FirstCoupon(1000, 1, 24*time.Hour))
}

// Sell creates a coupon and puts it on sale.
func (s *Server) Sell(ctx context.Context, c coupon.Coupon) error {
	_, err := s.app.sell(ctx, c)
	return err
}

// MoveWindow changes the window of the demonstration's coupon, which has the id 1.
func (s *Server) MoveWindow(ctx context.Context, begins, ends time.Time) error {
	_, err := s.app.Coupons.Patch(ctx, 1, coupon.Change{BeginsAt: &begins, EndsAt: &ends})
	return err
}

// PrintBanner prints the addresses, and with embedded stores an administrator's token.
func (s *Server) PrintBanner(out io.Writer) {
	_, _ = fmt.Fprintf(out, "%s  the page and the API\n", s.URL)
	if !s.Embedded() {
		return
	}
	_, _ = fmt.Fprintf(out, "%s/api/v1/coupons/1  the coupon on sale\n", s.URL)
	_, _ = fmt.Fprintf(out, "%s%s/metrics  metrics; /readyz and /debug/pprof/ are there too\n", scheme(s.app.cfg.Admin.TLS), s.adminAddr)
	if token, err := s.Token(1, auth.RoleAdmin); err == nil {
		_, _ = fmt.Fprintf(out, "admin token: %s\n", token)
	}
}

// Embedded reports whether the stores are in this process.
func (s *Server) Embedded() bool { return s.app.embedded != nil }

// Token returns a signed token.
func (s *Server) Token(user int64, role string) (string, error) {
	text, _, err := s.tokens.Sign(user, role, 0)
	return text, err
}

// AdminURL returns the address of the administrator's routes.
func (s *Server) AdminURL() string { return s.adminURL }

// UserToken is a source of tokens for simulated buyers.
func (s *Server) UserToken(_ context.Context, user int64) (string, error) {
	return s.Token(user, auth.RoleUser)
}

// Wait returns nil when ctx ends, or the reason for which a listener has failed.
func (s *Server) Wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case failed := <-s.failed:
		return failed
	}
}

// Run serves until ctx ends or a listener fails, and stops cleanly.
func (s *Server) Run(ctx context.Context) error {
	failed := s.Wait(ctx)
	if failed == nil {
		s.app.log.Info("stopping: finishing requests in flight")
	}
	err := errors.Join(failed, s.Stop(context.WithoutCancel(ctx)))
	if err == nil {
		s.app.log.Info("stopped")
	}
	return err
}
