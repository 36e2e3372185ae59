package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"example.com/seckill/cmd/seckill/internal/cli"
	"example.com/seckill/internal/config"
	"example.com/seckill/internal/tools/lab"
	"example.com/seckill/internal/tools/lab/harness"
	"example.com/seckill/internal/tools/lab/report"
	"example.com/seckill/internal/tools/lab/runner"
)

func newLab(c cli.Console) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "lab",
		Short: "Run experiments with wrong and right orders of locks",
		Long: `Plays what goes wrong when locks, leases and transactions are used in the wrong order,
and what removes it: the same work twice, differing in one thing, on a schedule that
shows the anomaly every time.`,
		Example: "  seckill lab list\n  seckill lab run unlock-before-commit\n  seckill lab run all --html lab.html",
		Args:    cli.SubcommandOnly,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newLabList(c), newLabRun(c), newLabGallery(c))
	return cmd
}

func newLabList(c cli.Console) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list",
		Short: "The experiments, and what each would run on here",
		Long: `Lists the experiments with what each would run on: the servers that are configured,
private ones whose programs are installed, or the embedded Redis where that can show it.
What is missing is named, with the package that has it.`,
		Example: "  seckill lab list --lang zh",
		Args:    cli.NoArgs,
	}
	find := serverFlags(cmd, c)
	language := cli.LanguageFlag(cmd)
	cmd.RunE = func(*cobra.Command, []string) error {
		if err := cli.CheckLanguage(*language); err != nil {
			return err
		}
		config, err := find()
		if err != nil {
			return err
		}
		var l report.List
		for _, g := range lab.Groups() {
			l.Group(g.Title)
			for _, e := range g.Experiments {
				on, lacks := config.Hosts(e.Needs)
				if err := l.Add(e, on, lacks); err != nil {
					return err
				}
			}
		}
		return l.WriteText(c.Out, *language)
	}
	return cmd
}

func newLabRun(c cli.Console) *cobra.Command {
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
and no right one did. With --recorded it is 0 if every recording shows the same.`,
		Example: "  seckill lab run unlock-before-commit\n  seckill lab run all --html lab.html\n" +
			"  seckill lab run stale-holder --json\n  seckill lab run read-before-lock --recorded\n  seckill lab run unlock-before-commit --ask",
		ValidArgsFunction: completeExperiments,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return cli.Usage(errors.New("lab run: name one experiment, or all: see seckill lab list"))
			}
			return nil
		},
	}
	find := serverFlags(cmd, c)
	r := runner.Session{Out: c.Out}
	language := cli.LanguageFlag(cmd)
	f := cmd.Flags()
	f.StringVar(&r.HTML, "html", "", "write a page with every timeline to this file")
	cli.CompleteFiles(cmd, map[string]string{"html": "html"})
	f.BoolVar(&r.JSON, "json", false, "print one JSON object an experiment")
	f.BoolVar(&r.Details, "details", false, "with all: print the explanations and timelines too")
	f.BoolVar(&r.Recorded, "recorded", false, "run nothing: show what was recorded on real servers")
	f.BoolVar(&r.Ask, "ask", false, "ask what will be counted before telling it")
	cmd.RunE = func(cmd *cobra.Command, args []string) (err error) {
		if err := cli.CheckLanguage(*language); err != nil {
			return err
		}
		if r.Ask && r.JSON {
			return cli.Usage(errors.New("lab run: --ask and --json exclude each other"))
		}
		r.Language, r.Answers = *language, c.Answers(cmd.Context())
		experiments, err := experimentsNamed(args[0])
		if err != nil {
			return err
		}
		r.Details = r.Details || args[0] != "all"
		if r.Config, err = find(); err != nil {
			return err
		}
		switch asExpected, err := r.Play(cmd.Context(), experiments); {
		case errors.Is(err, runner.ErrHTML):
			return cli.Usage(err)
		case err != nil:
			return err
		case !asExpected:
			return cli.ErrSilent
		}
		return nil
	}
	return cmd
}

// experimentsNamed returns the experiment of that name, or all.
func experimentsNamed(name string) ([]lab.Experiment, error) {
	if name == "all" {
		return lab.All(), nil
	}
	one, err := lab.Find(name)
	if err != nil {
		if begun := beginning(name, experimentNames()); len(begun) > 0 {
			err = fmt.Errorf("%w, did you mean %s?", err, strings.Join(begun, " or "))
		} else if near, ok := config.Nearest(name, experimentNames()); ok {
			err = fmt.Errorf("%w, did you mean %q?", err, near)
		}
		return nil, cli.Usage(err)
	}
	return []lab.Experiment{one}, nil
}

// beginning returns the names that begin with a text, quoted.
func beginning(text string, names []string) (all []string) {
	for _, name := range names {
		if strings.HasPrefix(name, text) {
			all = append(all, strconv.Quote(name))
		}
	}
	return all
}

// serverFlags adds the flags that name servers, and returns a function that combines them
// with the configuration.
func serverFlags(cmd *cobra.Command, c cli.Console) func() (harness.Config, error) {
	load := c.ConfigFlag(cmd)
	var found harness.Config
	f := cmd.Flags()
	f.StringVar(&found.MySQL, "mysql", "", "DSN of a MySQL or MariaDB whose user may create databases (default: mysql.dsn)")
	f.StringVar(&found.Redis, "redis", "", "host:port of one Redis (default: the first of redis.addrs)")
	f.BoolVar(&found.Embedded, "embedded", false, "no servers: only what the embedded Redis can show")
	return func() (harness.Config, error) {
		if found.Embedded {
			if found.MySQL+found.Redis != "" {
				return found, cli.Usage(errors.New("lab: --embedded takes no servers: leave out --mysql and --redis"))
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
		found = found.Or(harness.ConfigOf(c.Environ))
		if err := found.Check(); err != nil {
			return found, cli.Usage(err)
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
