package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"example.com/seckill/cmd/seckill/internal/cli"
	"example.com/seckill/internal/api/auth"
	"example.com/seckill/internal/app"
	"example.com/seckill/internal/config"
	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/tools/rush"
)

func newRush(c cli.Console) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "rush",
		Short: "The load generator, against a running server",
		Long: `Sends many distinct buyers to a server over HTTP and reports how they were answered.

With the server's secret in the configuration (SECKILL_AUTH__SECRET) the buyers' tokens
are signed here and the audit is read at the end: the exit code is 1 if it is not clean
or cannot be had. Without the secret the buyers log in, which the server allows only
while auth.demo_login is on.`,
		Example: "  seckill rush --url http://127.0.0.1:8080 --coupon 1 --users 20000\n  seckill rush --rate 2000 --users 60000 --json",
		Args:    cli.NoArgs,
	}
	load := c.ConfigFlag(cmd)
	o := rush.Options{ProgressOutput: c.Err, Home: coupon.Home}
	f := cmd.Flags()
	f.StringVar(&o.URL, "url", "http://127.0.0.1:8080", "the server")
	f.StringVar(&o.AdminURL, "admin-url", "", "of the administrator's routes, where admin.serve_api has moved them (default: --url)")
	f.StringVar(&o.Coupon, "coupon", "1", "the coupon's id")
	f.IntVar(&o.Users, "users", 10_000, "how many distinct buyers come")
	f.Int64Var(&o.FirstUser, "first-user", 1, "the first buyer's user id")
	f.IntVar(&o.Concurrency, "concurrency", 128, "how many buyers are served at once")
	f.Float64Var(&o.Rate, "rate", 0, "taps per second, 0 is as fast as it goes")
	f.IntVar(&o.DoubleTapEvery, "double-tap-every", 3, "every n-th buyer taps twice, 0 is none")
	f.IntVar(&o.Taps, "taps", 0, "instead: one user taps so many times at once")
	f.IntVar(&o.PayPercent, "pay", 0, "of 100 accepted orders, how many are paid")
	f.IntVar(&o.CancelPercent, "cancel", 0, "of 100 accepted orders, how many are cancelled")
	f.BoolVar(&o.Keys, "idempotency-keys", true, "send an Idempotency-Key, and retry with it after a lost answer")
	f.DurationVar(&o.Timeout, "timeout", 10*time.Second, "of one request")
	ca := f.String("ca", "", "of an https server: a file of the authorities to trust, in PEM (default: the system's)")
	asJSON := f.Bool("json", false, "print the report as one JSON object")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		cfg, err := load()
		if err != nil {
			return err
		}
		closeSessions, err := rushTokens(&o, cfg.Auth, *ca)
		if err != nil {
			return err
		}
		defer closeSessions()
		report, err := rush.Run(cmd.Context(), o)
		switch {
		case errors.Is(err, rush.ErrOptions):
			return cli.Usage(fmt.Errorf("%w: see seckill rush --help", err))
		case err != nil:
			return err
		}
		if err := report.Print(c.Out, *asJSON); err != nil {
			return err
		}
		return report.Verdict(o.AdminToken != "")
	}
	return cmd
}

// rushTokens sets the tokens of a rush's buyers, and the administrator's if there is a secret to sign them
// with; without one the buyers log in. The server's certificate may be of the authorities in the file ca.
// close is called when the rush is over.
func rushTokens(o *rush.Options, settings config.Auth, ca string) (closeSessions func(), err error) {
	if o.TLS, err = app.TrustTLS(ca); err != nil {
		return nil, err
	}
	if settings.Secret == "" {
		client := &http.Client{Transport: &http.Transport{TLSClientConfig: o.TLS}}
		o.Token = rush.Sessions(o.URL, client)
		return client.CloseIdleConnections, nil
	}
	options, err := app.TokenOptions(settings)
	if err != nil {
		return nil, cli.Usage(err)
	}
	tokens, err := options.Tokens()
	if err != nil {
		return nil, cli.Usage(fmt.Errorf("auth.secret: %w", err))
	}
	o.Token = func(_ context.Context, user int64) (string, error) {
		text, _, err := tokens.Sign(user, auth.RoleUser, 0)
		return text, err
	}
	o.AdminToken, _, err = tokens.Sign(1, auth.RoleAdmin, 0)
	return func() {}, err
}
