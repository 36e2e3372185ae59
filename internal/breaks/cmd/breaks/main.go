// Command breaks spoils the code on purpose, in each of the ways kept beside the
// suites, and exits with 1 unless every one of them is caught.
//
//	go run ./internal/breaks/cmd/breaks [-quick] [-only word] [folders…]
//
// It is run at the root of the module. Without folders it takes every folder
// called breaks that holds patches.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"

	"seckill/internal/breaks"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	ok, err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	if err != nil || !ok {
		os.Exit(1)
	}
}

func run(ctx context.Context) (bool, error) {
	quick := flag.Bool("quick", false, "only those that the ordinary tests try")
	only := flag.String("only", "", "only those with this word in their name")
	flag.Parse()
	folders := flag.Args()
	if len(folders) == 0 {
		var err error
		if folders, err = breaks.Folders("."); err != nil {
			return false, err
		}
	}
	all, err := breaks.Load(folders...)
	if err != nil {
		return false, err
	}
	all = slices.DeleteFunc(all, func(b breaks.Break) bool {
		return *quick && !b.Quick || !strings.Contains(b.Name(), *only)
	})
	return breaks.Report(ctx, os.Stdout, ".", all)
}
