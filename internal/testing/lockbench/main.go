package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"runtime/pprof"
)

// settings are the sizes of a run.
type settings struct {
	rounds  int
	pairs   int // of acquire and release on a fast server; a durable one gets a fifth
	workers int
	repeats int // sections of each worker
	only    string
}

func main() {
	quick := flag.Bool("quick", false, "one short round")
	asJSON := flag.Bool("json", false, "print JSON")
	out := flag.String("o", "", "write the table to this file, too")
	profile := flag.String("cpuprofile", "", "write a profile of the whole run to this file")
	only := flag.String("only", "", "only the locks whose name contains this")
	flag.Parse()
	s := settings{rounds: 3, pairs: 2000, workers: 32, repeats: 5, only: *only}
	if *quick {
		s.rounds, s.pairs = 1, 300
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, s, *asJSON, *out, *profile)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "lockbench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, s settings, asJSON bool, out, profile string) (err error) {
	slog.SetDefault(slog.New(slog.DiscardHandler)) // what matters comes back as an error
	if profile != "" {
		f, err := os.Create(profile)
		if err != nil {
			return err
		}
		defer func() { _ = f.Close() }()
		if err := pprof.StartCPUProfile(f); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	set, err := startServers(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, set.Close()) }()
	r, err := set.measureAll(ctx, s)
	if err != nil {
		return err
	}
	write := r.markdown
	if asJSON {
		write = r.json
	}
	var table bytes.Buffer
	if err := write(&table); err != nil {
		return err
	}
	if _, err := os.Stdout.Write(table.Bytes()); err != nil {
		return err
	}
	if out != "" {
		if err := os.WriteFile(out, table.Bytes(), 0o644); err != nil {
			return err
		}
	}
	return r.verdict()
}
