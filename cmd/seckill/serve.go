package main

import (
	"context"
	"errors"
	"log/slog"
	"strings"

	"github.com/spf13/cobra"

	"example.com/seckill/cmd/seckill/internal/cli"
	"example.com/seckill/internal/app"
	"example.com/seckill/internal/tools/demo"
	"example.com/seckill/internal/tools/designs"
	"example.com/seckill/internal/tools/gallery"
	"example.com/seckill/internal/tools/lab/runner"
)

func newServe(c cli.Console) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the application: HTTP API, page and background work",
		Long: `Runs the application until Ctrl-C or SIGTERM, which it finishes its requests after; a second
one ends it at once. SIGHUP is ignored: a changed configuration needs a restart. Without a
configuration the stores are embedded in the process, with one coupon on sale.`,
		Example: "  seckill serve\n  seckill serve --addr 127.0.0.1:9090\n  seckill serve --config configs/seckill.yaml",
		Args:    cli.NoArgs,
	}
	load := c.ConfigFlag(cmd)
	design := designFlag(cmd)
	addr := cmd.Flags().String("addr", "", "host:port of the page and the API (default: http.addr)")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		var variables []string
		if *addr != "" {
			variables = append(variables, "SECKILL_HTTP__ADDR="+*addr)
		}
		cfg, err := load(variables...)
		if err != nil {
			return err
		}
		newDesign, err := designs.New(*design, cfg.AllowWrongDesign)
		if err != nil {
			return err
		}
		log := app.NewLog(cfg.Log, c.LogOutput())
		o := app.Options{NewLab: pageLab, NewRush: pageRush, Gallery: gallery.Files, NewDesign: newDesign}
		if c.Log != nil {
			o.DroppedLines = c.Log.Dropped
		}
		s, err := app.Start(cmd.Context(), cfg, log, o)
		if err != nil {
			return startError(cmd.Context(), err, log)
		}
		c.Stops.Serve(s.Unfinished)
		if s.Embedded() {
			if err := s.OpenDemoSale(cmd.Context()); err != nil {
				return errors.Join(startError(cmd.Context(), err, log), s.Stop(context.WithoutCancel(cmd.Context())))
			}
		}
		s.LogServing()
		s.PrintBanner(c.Out)
		return s.Run(cmd.Context())
	}
	return cmd
}

// designFlag adds --design.
func designFlag(cmd *cobra.Command) *string {
	name := cmd.Flags().String("design", designs.Own, "what makes the orders: "+strings.Join(designs.Names(), ", "))
	cli.CompleteWords(cmd, "design", designs.Names()...)
	return name
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

// pageLab returns the lab of the page.
func pageLab(plays bool) app.Lab { return runner.New(plays) }

// pageRush returns the load generator of the page.
func pageRush(s *app.Server) app.Rush { return demo.NewRunner(s) }
