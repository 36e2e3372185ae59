package main

import (
	"github.com/spf13/cobra"

	"example.com/seckill/cmd/seckill/internal/cli"
	"example.com/seckill/internal/tools/demo"
)

func newDemo(c cli.Console) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "A whole flash sale in this process, over real HTTP, with nothing installed",
		Long: `Starts the application with embedded stores on a free port, lets simulated buyers
rush in over HTTP, every third of them tapping twice, and audits the result.
The exit code is 0 only if the audit is clean.

With --keep the sale is one to watch on the page: it begins 8 seconds after the first
page is open, or after a minute without a page, with fewer buyers unless --users says how many, who come one after
the other, and the page stays until Ctrl-C. Buyers go on coming after it, until they are
stopped on the page; an order that is not paid in two minutes expires, so there is
something to buy again. --open opens it in a browser.`,
		Example: "  seckill demo\n  seckill demo --open --addr 127.0.0.1:8080\n  seckill demo --users 20000 --stock 1000 --limit 2 --keep",
		Args:    cli.NoArgs,
	}
	d := demo.Demo{NewLab: pageLab, Out: c.Out, Err: c.Err, Log: c.LogOutput()}
	f := cmd.Flags()
	f.IntVar(&d.Users, "users", 10_000, "how many buyers come")
	f.Int64Var(&d.Stock, "stock", 500, "units on sale")
	f.IntVar(&d.Shards, "shards", 8, "Redis counters that the stock is split over")
	f.IntVar(&d.Limit, "limit", 1, "units that one user may buy")
	f.BoolVar(&d.Keep, "keep", false, "a sale to be watched on the page, which is served until Ctrl-C")
	f.DurationVar(&d.OpensIn, "opens-in", 0, "how long before the sale begins (with --keep: 8s after the first page is open, at the latest 68s)")
	f.Float64Var(&d.Rate, "rate", 0, "taps per second, 0 is as fast as it goes (with --keep: for five seconds of stock)")
	f.IntVar(&d.Visitors, "visitors", 20, "with --keep: taps per second that go on coming after the sale, 0 is none")
	f.StringVar(&d.Addr, "addr", "127.0.0.1:0", "host:port of the page and the API, port 0 is a free one")
	open := f.Bool("open", false, "open the page in a browser; with --keep, which it means")
	f.BoolVar(&d.JSON, "json", false, "print the report as one JSON object")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if *open {
			d.Keep = true
			d.Opened = func(url string) { c.OpenBrowser(cmd.Context(), url) }
		}
		if d.Keep {
			d.Pace(cmd.Flags().Changed)
		}
		return d.Run(cmd.Context())
	}
	return cmd
}
