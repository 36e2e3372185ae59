package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/spf13/cobra"

	"seckill/internal/api"
	"seckill/internal/config"
	"seckill/internal/coupon"
)

func newServe(c console) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the application: HTTP API, page and background work",
		Long: `Runs the application until Ctrl-C or SIGTERM. Without a configuration the stores are
embedded in the process, with one coupon on sale.`,
		Example: "  seckill serve\n  seckill serve --config configs/seckill.yaml\n  SECKILL_HTTP__ADDR=127.0.0.1:9090 seckill serve",
		Args:    noArgs,
	}
	load := configFlag(cmd, c)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		cfg, err := load()
		if err != nil {
			return err
		}
		log := newLog(cfg.Log, c.err)
		s, err := startServer(cmd.Context(), cfg, log)
		if err != nil {
			return startError(cmd.Context(), err, log)
		}
		if s.app.embedded != nil {
			if err := s.openDemoSale(cmd.Context()); err != nil {
				return errors.Join(startError(cmd.Context(), err, log), s.stop(context.WithoutCancel(cmd.Context())))
			}
		}
		s.logServing()
		s.printBanner(c)
		return s.untilDone(cmd.Context())
	}
	return cmd
}

// startError returns the error of a start, or nil if the program was told to stop meanwhile,
// which makes every step fail.
func startError(ctx context.Context, err error, log *slog.Logger) error {
	if ctx.Err() == nil {
		return err
	}
	log.Info("stopped while starting", "error", err)
	return nil
}

// embeddedTimeout is the least timeout of a request with embedded stores.
const embeddedTimeout = 8 * time.Second

// startServer opens the listeners, builds the app and serves.
func startServer(ctx context.Context, cfg config.Config, log *slog.Logger) (*server, error) {
	// Nobody knows a generated secret, so the demo login is the only way to a token.
	if made := cfg.FillDevelopment(); len(made) > 0 {
		cfg.Auth.DemoLogin, cfg.Rate.Sessions = true, 0 // the workload logs in from one address
		log.Info("development mode: generated for this run", "keys", made, "demo_login", true)
	}
	if cfg.Embedded() {
		// The stores share this machine with the program, and often with the workload: one
		// that has not answered yet is busy and not down.
		cfg.HTTP.RequestTimeout = max(cfg.HTTP.RequestTimeout, embeddedTimeout)
		cfg.Redis.Timeout = max(cfg.Redis.Timeout, embeddedTimeout)
	}
	for _, warning := range cfg.Warnings() {
		log.Warn(warning)
	}
	l, err := listen(ctx, cfg.HTTP.Addr, cfg.Admin.Addr)
	if err != nil {
		return nil, err
	}
	a, err := openApp(ctx, cfg, log)
	if err != nil {
		return nil, errors.Join(err, l.close())
	}
	if a.embedded != nil {
		log.Info(a.embedded.Notice())
	}
	s, err := newServer(a, l)
	if err != nil {
		return nil, errors.Join(err, a.close(context.WithoutCancel(ctx)))
	}
	s.adminAddr = l.admin.Addr().String()
	a.warn(ctx)
	return s, nil
}

// logServing logs the addresses. It comes last in a start, so that a client that waits for
// the line finds the demonstration's coupon on sale.
func (s *server) logServing() {
	s.app.log.Info("serving", "url", s.url, "admin", s.adminAddr, "version", version(), "instance", s.app.fleet.Name())
}

// openDemoSale puts one coupon on sale, with the id 1.
func (s *server) openDemoSale(ctx context.Context) error {
	now := time.Now()
	return s.sell(ctx, coupon.Coupon{
		Title: "Flash sale", Total: 1000, LimitPerUser: 1, PriceCents: 990,
		BeginsAt: now.Add(-time.Second), EndsAt: now.Add(24 * time.Hour),
	})
}

func (s *server) sell(ctx context.Context, c coupon.Coupon) error {
	c, err := s.app.coupons.Create(ctx, c)
	if err != nil {
		return fmt.Errorf("create the coupon: %w", err)
	}
	if _, err := s.app.coupons.Publish(ctx, c.ID); err != nil {
		return fmt.Errorf("publish the coupon: %w", err)
	}
	return nil
}

// printBanner prints the addresses, and with embedded stores an administrator's token.
func (s *server) printBanner(c console) {
	_, _ = fmt.Fprintf(c.out, "%s  the page and the API\n", s.url)
	if s.app.embedded == nil {
		return
	}
	_, _ = fmt.Fprintf(c.out, "%s/api/v1/coupons/1  the coupon on sale\n", s.url)
	if token, err := s.token(1, api.RoleAdmin); err == nil {
		_, _ = fmt.Fprintf(c.out, "admin token: %s\n", token)
	}
}

func (s *server) token(user int64, role string) (string, error) {
	tokens, err := api.NewTokens([]byte(s.app.cfg.Auth.Secret.Reveal()), s.app.cfg.Auth.TokenTTL)
	if err != nil {
		return "", err
	}
	text, _, err := tokens.Sign(user, role, 0)
	return text, err
}

// untilDone serves until ctx ends or a listener fails, and stops cleanly.
func (s *server) untilDone(ctx context.Context) error {
	var failed error
	select {
	case <-ctx.Done():
		s.app.log.Info("stopping: finishing requests in flight")
	case failed = <-s.failed:
	}
	err := errors.Join(failed, s.stop(context.WithoutCancel(ctx)))
	if err == nil {
		s.app.log.Info("stopped")
	}
	return err
}
