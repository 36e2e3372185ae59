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
		Short: "Run the load generator against a server",
		Long: `Sends many distinct buyers to a server over HTTP, reports how the server answered them,
and audits the sale. The exit code is 0 only if every promise was checked and kept.

With the server's secret in the configuration (SECKILL_AUTH__SECRET) rush signs the
tokens of the buyers and of the administrator who reads the audit. Without the secret
they log in: buyers where auth.demo_login is on, an administrator where the stores are
embedded. If rush cannot read the audit, it says why, and the exit code is 1.
--no-audit leaves the audit out: the exit code then says only that no answer was wrong.`,
		Example: "  seckill rush --url http://127.0.0.1:8080 --coupon 1 --users 20000\n" +
			"  seckill rush --users 20000 --pay-percent 10 --cancel-percent 10\n  seckill rush --rate 2000 --users 60000 --json",
		Args: cli.NoArgs,
	}
	load := c.ConfigFlag(cmd)
	o := rush.Options{
		ProgressOutput: c.Err, Home: coupon.Home, Version: app.Version(),
		NoAuditReason: "there is no administrator's token: set SECKILL_AUTH__SECRET to the server's secret, " +
			"or leave the audit out with --no-audit",
	}
	f := cmd.Flags()
	f.StringVar(&o.URL, "url", "http://127.0.0.1:8080", "address of the server")
	f.StringVar(&o.AdminURL, "admin-url", "", "address of the administrator's routes, if they are elsewhere (default: --url)")
	f.StringVar(&o.Coupon, "coupon", "1", "the coupon's id")
	f.IntVar(&o.Users, "users", 10_000, "number of distinct buyers")
	f.Int64Var(&o.FirstUser, "first-user", 1, "the first buyer's user id")
	f.IntVar(&o.Concurrency, "concurrency", 128, "buyers served at once")
	f.Float64Var(&o.Rate, "rate", 0, "requests per second, 0 is no limit")
	f.IntVar(&o.DoubleTapEvery, "double-tap-every", 3, "every n-th buyer tries twice, 0 is none")
	f.IntVar(&o.Taps, "same-user", 0, "instead: requests that one user sends at once")
	f.IntVar(&o.PayPercent, "pay-percent", 0, "percent of orders to pay, 0-100")
	f.IntVar(&o.CancelPercent, "cancel-percent", 0, "percent of orders to cancel, 0-100")
	f.BoolVar(&o.Keys, "idempotency-keys", true, "send an Idempotency-Key, and retry with it after a lost answer")
	f.DurationVar(&o.Timeout, "timeout", 10*time.Second, "time limit of one HTTP request")
	ca := f.String("ca", "", "PEM file of the authorities to trust, for an https server (default: the system's)")
	f.BoolVar(&o.NoAudit, "no-audit", false, "leave the audit out")
	var style rush.Style
	reportFlags(cmd, &style)
	cli.RefuseRenamedFlags(cmd, map[string]string{"pay": "pay-percent", "cancel": "cancel-percent", "taps": "same-user"})
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
		style.Colour = c.Colours(c.Out)
		style.Next = rushNext(o.URL, style.Details)
		if !style.JSON {
			o.Opening = func(units, limit int) { _, _ = fmt.Fprintf(c.Out, "%s\n\n", o.Heading(units, limit)) }
		}
		report, err := rush.Run(cmd.Context(), o)
		switch {
		case errors.Is(err, rush.ErrOptions):
			return cli.Usage(fmt.Errorf("%w: see seckill rush --help", err))
		case err != nil:
			return err
		}
		if err := report.Print(c.Out, style); err != nil {
			return err
		}
		return report.Verdict(!o.NoAudit)
	}
	return cmd
}

// rushNext returns what the reader of a rush's report may do next. A reader of all details needs no advice for them.
func rushNext(url string, details bool) [][2]string {
	last := [2]string{"all of it", "the same command with --details, or --json for scripts"}
	if details {
		last = [2]string{"scripts", "the same command with --json"}
	}
	return [][2]string{{"watch it", url}, {"open loop", cli.Program() + " rush --rate 2000 --users 60000"}, last}
}

// reportFlags adds the flags of commands that end with the report of a run.
func reportFlags(cmd *cobra.Command, style *rush.Style) {
	cmd.Flags().BoolVar(&style.JSON, "json", false, "print the report as one JSON object")
	cmd.Flags().BoolVar(&style.Details, "details", false, "print all figures of the report")
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
