package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"seckill/internal/config"
	"seckill/internal/lab"
	"seckill/internal/lab/bench"
	"seckill/internal/lab/report"
)

func newLab(c console) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "lab",
		Short: "Experiments: wrong orders of locks and transactions, beside the right ones",
		Long: `Plays what goes wrong when locks, leases and transactions are used in the wrong order,
and what removes it: the same work twice, differing in one thing, on a schedule that
shows the anomaly every time.`,
		Example: "  seckill lab list\n  seckill lab run unlock-before-commit\n  seckill lab run all --html lab.html",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usage(fmt.Errorf("lab: unknown command %q: see seckill lab --help", args[0]))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newLabList(c), newLabRun(c))
	return cmd
}

func newLabList(c console) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "The experiments",
		Example: "  seckill lab list --lang zh",
		Args:    noArgs,
	}
	language := languageFlag(cmd)
	cmd.RunE = func(*cobra.Command, []string) error {
		if err := checkLanguage(*language); err != nil {
			return err
		}
		for _, e := range lab.All() {
			if _, err := fmt.Fprintf(c.out, "%-26s %s\n", e.Name, e.Title.In(*language)); err != nil {
				return fmt.Errorf("print the list: %w", err)
			}
		}
		return nil
	}
	return cmd
}

// labRun is how experiments are to be played and shown.
type labRun struct {
	config   bench.Config
	html     string
	json     bool
	details  bool
	language *string
}

func newLabRun(c console) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "run NAME|all",
		Short: "Play an experiment, or all of them",
		Long: `Plays experiments on the Redis and the database that are configured, in keys and a
database of its own there, or on private servers that it starts if redis-server and
mariadbd are installed. Experiments that kill or cut off a server start one of their own.
What neither is to be had for is not run, and said so.

The exit code is 0 only if every wrong case showed its anomaly and no right one did.`,
		Example: "  seckill lab run unlock-before-commit\n  seckill lab run all --html lab.html\n  seckill lab run stale-holder --json",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usage(errors.New("lab run: name one experiment, or all: see seckill lab list"))
			}
			return nil
		},
	}
	load := configFlag(cmd, c)
	r := labRun{language: languageFlag(cmd)}
	f := cmd.Flags()
	f.StringVar(&r.config.MySQL, "mysql", "", "DSN of a MySQL or MariaDB whose user may create databases (default: mysql.dsn)")
	f.StringVar(&r.config.Redis, "redis", "", "host:port of one Redis (default: the first of redis.addrs)")
	f.BoolVar(&r.config.Embedded, "embedded", false, "no servers: only what the embedded Redis can show")
	f.StringVar(&r.html, "html", "", "write a page with every timeline to this file")
	f.BoolVar(&r.json, "json", false, "print one JSON object an experiment")
	f.BoolVar(&r.details, "details", false, "with all: print the explanations and timelines too")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := checkLanguage(*r.language); err != nil {
			return err
		}
		experiments := lab.All()
		if r.details = r.details || args[0] != "all"; args[0] != "all" {
			one, err := lab.Find(args[0])
			if err != nil {
				return usage(err)
			}
			experiments = []lab.Experiment{one}
		}
		if !r.config.Embedded {
			if err := r.find(cmd, c, load); err != nil {
				return err
			}
		}
		return r.run(cmd.Context(), c, experiments)
	}
	return cmd
}

// find takes the servers from the configuration, unless flags have named them. The
// stores alone are asked for, so the environment need not be one that serves.
func (r *labRun) find(cmd *cobra.Command, c console, load func() (config.Config, error)) error {
	if cmd.Flags().Changed("config") {
		cfg, err := load()
		if err != nil {
			return err
		}
		if !cfg.Embedded() {
			r.config.MySQL = first(r.config.MySQL, cfg.MySQL.DSN.Reveal())
			r.config.Redis = first(r.config.Redis, cfg.Redis.Addrs...)
		}
	}
	r.config.MySQL = first(r.config.MySQL, variable(c.environ, "SECKILL_MYSQL__DSN"))
	r.config.Redis = first(r.config.Redis, strings.Split(variable(c.environ, "SECKILL_REDIS__ADDRS"), ",")...)
	if err := r.config.Check(); err != nil {
		return usage(err)
	}
	return nil
}

func (r *labRun) run(ctx context.Context, c console, experiments []lab.Experiment) (err error) {
	places := bench.NewPlaces(r.config)
	defer func() { err = errors.Join(err, places.Close()) }()
	var failed error
	results := lab.Run(ctx, places, experiments, func(one bench.Result) {
		switch {
		case failed != nil:
		case r.json:
			failed = report.JSON(c.out, one)
		case r.details:
			failed = report.Text(c.out, one, *r.language)
		default:
			failed = report.Row(c.out, one, *r.language)
		}
	})
	if failed != nil {
		return failed
	}
	if r.html != "" {
		if err := writePage(r.html, results); err != nil {
			return err
		}
	}
	if ctx.Err() != nil {
		return errors.New("stopped before every experiment was played")
	}
	return r.verdict(c, results)
}

// verdict makes the exit code, and says how many were as expected.
func (r *labRun) verdict(c console, results []bench.Result) error {
	expected, notRun := 0, 0
	for _, one := range results {
		switch {
		case one.NotRun != "":
			notRun++
		case one.AsExpected():
			expected++
		}
	}
	if !r.json && len(results) > 1 {
		_, _ = fmt.Fprintf(c.out, "\n%d of %d as expected, %d not run\n", expected, len(results), notRun)
	}
	if expected != len(results) {
		return errSilent
	}
	return nil
}

// writePage writes beside the file and renames, so that a page is whole or not there.
func writePage(path string, results []bench.Result) (err error) {
	file, err := os.CreateTemp(filepath.Dir(path), ".lab-*.html")
	if err != nil {
		return usage(fmt.Errorf("--html: %w", err))
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(file.Name()))
		}
	}()
	err = errors.Join(report.HTML(file, results), file.Chmod(0o644), file.Close())
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := os.Rename(file.Name(), path); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

func languageFlag(cmd *cobra.Command) *string {
	return cmd.Flags().String("lang", "en", "language of the text, en or zh")
}

func checkLanguage(language string) error {
	if language != "en" && language != "zh" {
		return usage(fmt.Errorf("--lang: %q is neither en nor zh", language))
	}
	return nil
}

// variable reads one variable of the environment.
func variable(environ []string, name string) string {
	for _, one := range environ {
		if value, is := strings.CutPrefix(one, name+"="); is {
			return value
		}
	}
	return ""
}

// first is the first that is not empty.
func first(value string, others ...string) string {
	for _, o := range others {
		if value == "" {
			value = strings.TrimSpace(o)
		}
	}
	return value
}
