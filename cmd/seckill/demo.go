package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"example.com/seckill/cmd/seckill/internal/cli"
	"example.com/seckill/internal/config"
	"example.com/seckill/internal/tools/demo"
	"example.com/seckill/internal/tools/designs"
)

func newDemo(c cli.Console) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Play a whole flash sale in this process",
		Long: `Starts the application with embedded stores on a free port, lets simulated buyers
rush in over HTTP, every third of them trying twice, and audits the result. Nothing
needs to be installed. The exit code is 0 only if the audit is clean.

With --keep-serving you can watch the sale on the page. It begins 8 seconds after the first
page is open, or after a minute without a page. It has fewer buyers unless you set
--users, and the page stays until Ctrl-C. Buyers go on coming after it, until you
stop them on the page. An order that is not paid in two minutes expires, so that
there is something to buy again.
--open opens the page in a browser.

With --compare the same crowd comes three times: to a naive design, to a right one, and
to this program. The same audit judges all three. The wrong design needs no variable
here, because its stores end with it. The exit code is 0 if the audits of the two right
designs are clean. The audit of the naive design does not count.`,
		Example: "  seckill demo\n  seckill demo --open --addr 127.0.0.1:8080\n" +
			"  seckill demo --users 20000 --stock 1000 --limit 2 --keep-serving\n  seckill demo --details\n  seckill demo --compare",
		Args: cli.NoArgs,
	}
	d := demo.Demo{NewLab: pageLab, Out: c.Out, Err: c.Err, Log: c.LogOutput()}
	f := cmd.Flags()
	f.IntVar(&d.Users, "users", 10_000, "number of buyers")
	f.Int64Var(&d.Stock, "stock", 500, "units on sale")
	f.IntVar(&d.Shards, "shards", 8, "Redis counters that the stock is split over")
	f.IntVar(&d.Limit, "limit", 1, "units that one user may buy")
	f.BoolVar(&d.KeepServing, "keep-serving", false, "slow the sale down to be watched on the page, and serve until Ctrl-C")
	f.DurationVar(&d.StartsIn, "starts-in", 0, "time until the sale begins (with --keep-serving: 8s after the first page, at most 68s)")
	f.Float64Var(&d.Rate, "rate", 0, "requests per second, 0 is no limit (with --keep-serving: for five seconds of stock)")
	f.IntVar(&d.BackgroundRate, "background-rate", 20, "with --keep-serving: requests per second after the sale, 0 is none")
	f.StringVar(&d.Addr, "addr", "127.0.0.1:0", "host:port of the page and the API, port 0 is a free one")
	design := designFlag(cmd)
	compare := f.Bool("compare", false, "send the same crowd to a wrong design, a right one and this program, and compare")
	svg := f.String("svg", "", "with --compare: draw the comparison into this file")
	cli.CompleteFiles(cmd, map[string]string{"svg": "svg"})
	open := f.Bool("open", false, "open the page in a browser; implies --keep-serving")
	reportFlags(cmd, &d.Style)
	cli.RefuseRenamedFlags(cmd, map[string]string{"keep": "keep-serving", "opens-in": "starts-in", "visitors": "background-rate"})
	cmd.RunE = func(cmd *cobra.Command, _ []string) (err error) {
		if ignored := config.Settings(c.Environ); len(ignored) > 0 {
			_, _ = fmt.Fprintf(c.Err, "seckill: demo uses its own settings and ignores %s\n", strings.Join(ignored, ", "))
		}
		changed := cmd.Flags().Changed
		ctx, reader := c.WatchReader(cmd.Context())
		defer func() { err = reader.Verdict(err) }()
		d.Out = reader
		switch {
		case *compare && (changed("design") || d.KeepServing || *open):
			return cli.Usage(errors.New("--compare chooses the designs and keeps none: leave --design, --keep-serving and --open out"))
		case *compare:
			return d.Compare(ctx, *svg)
		case *svg != "":
			return cli.Usage(errors.New("--svg is for --compare"))
		}
		allowed := slices.Contains(c.Environ, config.WrongDesignVariable+"=1")
		if d.NewDesign, err = designs.New(*design, allowed); err != nil {
			return err
		}
		if *open {
			d.KeepServing = true
			d.Opened = func(url string) { c.OpenBrowser(ctx, url) }
		}
		if d.KeepServing {
			d.Pace(changed)
		}
		d.Style.Colour = c.Colours(c.Out)
		d.Style.Next = demoNext(d.KeepServing, d.Style.Details)
		return d.Run(ctx)
	}
	return cmd
}

// demoNext returns what the reader of a demo's report may do next, without what the reader has done.
func demoNext(keepServing, details bool) (next [][2]string) {
	program := cli.Program()
	if !keepServing {
		next = append(next, [2]string{"watch it", program + " demo --open"})
	}
	next = append(next, [2]string{"break it", program + " lab run unlock-before-commit"})
	if !details {
		next = append(next, [2]string{"all of it", program + " demo --details"})
	}
	return next
}
