// Command scale plays a sale of many buyers end to end on private servers and prints what
// each phase cost. It exits with 1, and a line that names the phase, if a bound is broken.
//
//	go run ./internal/testing/scale/cmd/scale [-buyers N] [-coupons N] [-phases word,word] [-busy] [-once] [-o FILE]
//
// It is run at the root of the module.
package main

import (
	"context"
	"errors"
	"flag"
	"log/slog"
	"os"
	"os/signal"
	"strings"

	"example.com/seckill/internal/testing/scale"
	"example.com/seckill/internal/tools/tool"
)

func main() { tool.Main("scale", run) }

func run(ctx context.Context) error {
	context.AfterFunc(ctx, func() { signal.Reset() }) // a second signal ends it at once
	o := scale.Options{Log: os.Stderr, Root: "."}
	flag.Int64Var(&o.Buyers, "buyers", 1_000_000, "buyers of the larger sale; those before and after it have half of them")
	flag.IntVar(&o.Coupons, "coupons", 1_000, "small coupons that a fleet sells after the large sale, 0 for none")
	flag.BoolVar(&o.Busy, "busy", false, "the machine does other work: judge growth by processor time in every phase, "+
		"and calls of Redis by their median")
	flag.BoolVar(&o.Once, "once", false, "do not play the half again after the whole, which tells how much the machine itself differs")
	flag.StringVar(&o.Program, "program", "", "the program, built; without it, it is built here")
	names := flag.String("phases", "", "only these, parted by commas, of "+strings.Join(scale.Names(), ", ")+"; coupons is all of many-")
	out := flag.String("o", "", "write the table as Markdown to this file, after each phase anew")
	flag.Parse()
	if *names != "" {
		o.Phases = strings.Split(*names, ",")
	}
	slog.SetDefault(slog.New(slog.DiscardHandler)) // what matters comes back as an error
	if *out != "" {
		o.OnRow = func(r *scale.Report) error { return tool.WriteFile(*out, r.WriteMarkdown) }
	}
	r, err := scale.Run(ctx, o)
	if r == nil {
		return err
	}
	if ctx.Err() != nil {
		return errors.New("stopped; nothing is left running or on the disk")
	}
	err = errors.Join(err, r.WriteText(os.Stdout))
	if *out != "" {
		err = errors.Join(err, tool.WriteFile(*out, r.WriteMarkdown))
	}
	return errors.Join(err, r.Verdict())
}
