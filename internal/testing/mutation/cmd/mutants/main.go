// Command mutants plants the bugs that are kept beside the suites, one at a time, and
// exits with 1 unless every one of them is killed.
//
//	go run ./internal/testing/mutation/cmd/mutants [-package order] [-run regexp] [flags] [folders…]
//
// It is run at the root of the module. Without folders it takes every folder
// testdata/mutants. The results are kept in a file as it goes: run again, it tries only
// what has changed. At the end it writes them as a table in Markdown; with -budget 1ns it
// does only that.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"

	"example.com/seckill/internal/testing/mutation"
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
	o := mutation.Options{Root: ".", Out: os.Stdout}
	flag.StringVar(&o.Results, "results", mutation.ResultsFile, "the file that keeps the results")
	flag.BoolVar(&o.Fresh, "fresh", false, "try again what the results know already")
	flag.IntVar(&o.Tries, "tries", 1, "how often to try each mutant; one with timing in it may ask for more")
	flag.DurationVar(&o.Budget, "budget", 0, "the time after which no mutant is begun; 0 is no end")
	flag.IntVar(&o.Parallel, "parallel", 2, "how many to try at once")
	flag.BoolVar(&o.Race, "race", false, "all with the race detector, and not only those that need it")
	under := flag.String("under", "", "the command that go test is run by, such as nice")
	table := flag.String("table", mutation.TableFile, "the file for the table")
	quick := flag.Bool("quick", false, "only those that the ordinary tests try")
	packages := flag.String("package", "", "only those of these packages and below them, in this order, such as order,store")
	pattern := flag.String("run", "", "only those whose name matches the regexp")
	flag.Parse()
	o.Under = strings.Fields(*under)
	name, err := regexp.Compile(*pattern)
	if err != nil {
		return false, fmt.Errorf("-run: %w", err)
	}
	all, err := load(flag.Args())
	if err != nil {
		return false, err
	}
	var some []mutation.Mutant
	for pkg := range strings.SplitSeq(*packages, ",") {
		for _, m := range all {
			in := pkg == "" || m.Package() == pkg || strings.HasPrefix(m.Package(), pkg+"/")
			if in && (!*quick || m.Quick) && name.MatchString(m.Name()) {
				some = append(some, m)
			}
		}
	}
	if len(some) == 0 {
		return false, fmt.Errorf("no mutant is in -package %q and matches -run %q", *packages, *pattern)
	}
	ok, err := mutation.Run(ctx, o, some)
	if err != nil {
		return false, err
	}
	if err := mutation.Tidy(o, all); err != nil {
		return false, err
	}
	text, err := mutation.Table(o, all)
	if err != nil {
		return false, err
	}
	return ok, write(*table, text)
}

func load(folders []string) ([]mutation.Mutant, error) {
	if len(folders) == 0 {
		var err error
		if folders, err = mutation.Folders("."); err != nil {
			return nil, err
		}
	}
	return mutation.Load(folders...)
}

func write(path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return fmt.Errorf("the table: %w", err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil { //nolint:gosec // it is for all to read
		return fmt.Errorf("the table: %w", err)
	}
	return nil
}
