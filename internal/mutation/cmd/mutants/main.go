// Command mutants plants the bugs that are kept beside the suites, one at a time, and
// exits with 1 unless every one of them is killed.
//
//	go run ./internal/mutation/cmd/mutants [-quick] [-only word] [folders…]
//
// It is run at the root of the module. Without folders it takes every folder
// testdata/mutants that holds patches.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"

	"seckill/internal/mutation"
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
		if folders, err = mutation.Folders("."); err != nil {
			return false, err
		}
	}
	all, err := mutation.Load(folders...)
	if err != nil {
		return false, err
	}
	all = slices.DeleteFunc(all, func(m mutation.Mutant) bool {
		return *quick && !m.Quick || !strings.Contains(m.Name(), *only)
	})
	return mutation.Report(ctx, os.Stdout, ".", all)
}
