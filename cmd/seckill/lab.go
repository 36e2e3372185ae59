package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"seckill/internal/config"
	"seckill/internal/lab"
	"seckill/internal/lab/harness"
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
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknown(cmd, "lab", args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newLabList(c), newLabRun(c), newLabGallery(c))
	return cmd
}

func newLabList(c console) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list",
		Short: "The experiments, and what each would run on here",
		Long: `Lists the experiments with what each would run on: the servers that are configured,
private ones whose programs are installed, or the embedded Redis where that can show it.
What is missing is named, with the package that has it.`,
		Example: "  seckill lab list --lang zh",
		Args:    noArgs,
	}
	find := serverFlags(cmd, c)
	language := languageFlag(cmd)
	cmd.RunE = func(*cobra.Command, []string) error {
		if err := checkLanguage(*language); err != nil {
			return err
		}
		config, err := find()
		if err != nil {
			return err
		}
		for _, e := range lab.All() {
			on, lacks := config.Hosts(e.Needs)
			if err := report.Entry(c.out, e, on, lacks, *language); err != nil {
				return err
			}
		}
		return nil
	}
	return cmd
}

// labRun is how experiments are to be played and shown.
type labRun struct {
	config   harness.Config
	html     string
	json     bool
	details  bool
	recorded bool
	ask      bool
	answers  *bufio.Reader
	language *string
}

func newLabRun(c console) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "run NAME|all",
		Short: "Play an experiment, or all of them",
		Long: `Plays experiments on the Redis and the database that are configured, in keys and a
database of its own there, or on private servers that it starts if redis-server and
mariadbd are installed. Experiments that kill or cut off a server start one of their own.
Without a Redis the embedded one is used where it can show the anomaly, and that is said.
What there is no server for is not run, and what is missing is named; what is shown of it
then is a recording, which says when and on which servers it was made. With --recorded
nothing is run, and every experiment is shown as it was recorded. With --ask the schedule
comes first, and a question; then the steps one by one, and the lesson after the answer.

The exit code is 0 only if every experiment was run, every wrong case showed its anomaly
and no right one did.`,
		Example: "  seckill lab run unlock-before-commit\n  seckill lab run all --html lab.html\n" +
			"  seckill lab run stale-holder --json\n  seckill lab run read-before-lock --recorded\n  seckill lab run unlock-before-commit --ask",
		ValidArgsFunction: completeExperiments,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usage(errors.New("lab run: name one experiment, or all: see seckill lab list"))
			}
			return nil
		},
	}
	find := serverFlags(cmd, c)
	r := labRun{language: languageFlag(cmd)}
	f := cmd.Flags()
	f.StringVar(&r.html, "html", "", "write a page with every timeline to this file")
	_ = cmd.MarkFlagFilename("html", "html")
	f.BoolVar(&r.json, "json", false, "print one JSON object an experiment")
	f.BoolVar(&r.details, "details", false, "with all: print the explanations and timelines too")
	f.BoolVar(&r.recorded, "recorded", false, "run nothing: show what was recorded on real servers")
	f.BoolVar(&r.ask, "ask", false, "ask what will be counted before telling it")
	cmd.RunE = func(cmd *cobra.Command, args []string) (err error) {
		if err := checkLanguage(*r.language); err != nil {
			return err
		}
		if r.ask && r.json {
			return usage(errors.New("lab run: --ask and --json exclude each other"))
		}
		r.answers = bufio.NewReader(&answers{ctx: cmd.Context(), in: c.input()})
		experiments := lab.All()
		if r.details = r.details || args[0] != "all"; args[0] != "all" {
			one, err := lab.Find(args[0])
			if err != nil {
				if near, ok := config.Nearest(args[0], experimentNames()); ok {
					err = fmt.Errorf("%w, did you mean %q?", err, near)
				}
				return usage(err)
			}
			experiments = []lab.Experiment{one}
		}
		if r.config, err = find(); err != nil {
			return err
		}
		return r.run(cmd.Context(), c, experiments)
	}
	return cmd
}

func (r *labRun) run(ctx context.Context, c console, experiments []lab.Experiment) (err error) {
	var page *report.File
	if r.html != "" { // before the experiments, which take a while
		if page, err = report.NewFile(r.html); err != nil {
			return usage(fmt.Errorf("--html: %w", err))
		}
		defer page.Discard()
	}
	places := harness.NewServers(r.config)
	defer func() { err = errors.Join(err, places.Close()) }()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var printErr error
	var results []harness.Result
	err = r.play(ctx, places, experiments, func(one harness.Result) {
		results = append(results, one)
		if printErr = r.print(c, one); printErr != nil {
			stop()
		}
	})
	switch {
	case err != nil:
		return err
	case printErr != nil:
		return printErr
	case ctx.Err() != nil:
		return errors.New("stopped before every experiment was played")
	}
	if page != nil {
		if err := page.Write(results); err != nil {
			return err
		}
	}
	if !r.json {
		report.Summary(c.out, results, r.config.Embedded)
	}
	if slices.ContainsFunc(results, func(one harness.Result) bool { return !one.AsExpected() }) {
		return errSilent
	}
	return nil
}

// play tells the result of each experiment: played here, or its recording.
func (r *labRun) play(ctx context.Context, places *harness.Servers, experiments []lab.Experiment, tell func(harness.Result)) (err error) {
	if !r.recorded {
		lab.RunAll(ctx, places, experiments, func(one harness.Result) {
			shown, missing := lab.WithRecording(one)
			err = errors.Join(err, missing)
			tell(shown)
		})
		return err
	}
	for _, e := range experiments {
		one, err := lab.Recording(e.Name)
		if err != nil {
			return err
		}
		tell(one)
		if ctx.Err() != nil {
			break
		}
	}
	return nil
}

// print shows a result as the flags want it.
func (r *labRun) print(c console, one harness.Result) error {
	switch {
	case r.json:
		return report.JSON(c.out, one)
	case r.ask:
		return report.Quiz(c.out, r.answers, one, *r.language)
	case r.details:
		return report.Text(c.out, one, *r.language)
	}
	return report.Row(c.out, one, *r.language)
}

// serverFlags adds the flags that name servers, and returns a function that combines them
// with the configuration.
func serverFlags(cmd *cobra.Command, c console) func() (harness.Config, error) {
	load := configFlag(cmd, c)
	var found harness.Config
	f := cmd.Flags()
	f.StringVar(&found.MySQL, "mysql", "", "DSN of a MySQL or MariaDB whose user may create databases (default: mysql.dsn)")
	f.StringVar(&found.Redis, "redis", "", "host:port of one Redis (default: the first of redis.addrs)")
	f.BoolVar(&found.Embedded, "embedded", false, "no servers: only what the embedded Redis can show")
	return func() (harness.Config, error) {
		if found.Embedded {
			if found.MySQL+found.Redis != "" {
				return found, usage(errors.New("lab: --embedded takes no servers: leave out --mysql and --redis"))
			}
			return found, nil
		}
		// The stores alone are read, so the environment need not be complete enough to serve.
		if cmd.Flags().Changed("config") {
			cfg, err := load()
			if err != nil {
				return found, err
			}
			if !cfg.Embedded() {
				found = found.Or(harness.Config{MySQL: cfg.MySQL.DSN.Reveal(), Redis: cfg.Redis.Addrs[0]})
			}
		}
		found = found.Or(harness.ConfigOf(c.environ))
		if err := found.Check(); err != nil {
			return found, usage(err)
		}
		return found, nil
	}
}

// experimentNames are what lab run takes.
func experimentNames() []string {
	names := []string{"all"}
	for _, e := range lab.All() {
		names = append(names, e.Name)
	}
	return names
}

// completeExperiments offers the names with their titles.
func completeExperiments(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	all := []cobra.Completion{cobra.CompletionWithDesc("all", "every experiment")}
	for _, e := range lab.All() {
		all = append(all, cobra.CompletionWithDesc(e.Name, e.Title.EN))
	}
	return all, cobra.ShellCompDirectiveNoFileComp
}

func languageFlag(cmd *cobra.Command) *string {
	to := cmd.Flags().String("lang", "en", "language of the text, en or zh")
	completeWords(cmd, "lang", "en", "zh")
	return to
}

func checkLanguage(language string) error {
	if language != "en" && language != "zh" {
		return usage(fmt.Errorf("--lang: %q is neither en nor zh", language))
	}
	return nil
}
