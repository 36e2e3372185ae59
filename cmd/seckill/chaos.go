//go:build faults

package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"example.com/seckill/cmd/seckill/internal/cli"
	"example.com/seckill/internal/testing/chaos"
	"example.com/seckill/internal/tools/designs"
)

// extraCommands are those that only this build has.
func extraCommands(c cli.Console) []*cobra.Command { return []*cobra.Command{newChaos(c)} }

func newChaos(c cli.Console) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "chaos",
		Short: "Break real processes and servers under load, and audit what is left",
		Long: `Starts private servers and several instances of this program, sends crowds of buyers,
and breaks something in every round: an instance is killed, stopped or loses a reply at a
point of the order path, or a store goes away, loses its data or stalls, the database is
set back, a key is evicted, a clock is set, a right is taken, another deployment comes to
the same Redis, slots of a Cluster are moved, an earlier build of the program is replaced,
or a flood of attackers comes beside the buyers. In some rounds the stores are 2 ms away,
or 200 small coupons are on sale at the same time, or buyers repeat each refused key. After each round every
acknowledged order must be there, but for those that were lost with the database itself,
nothing oversold, nobody above the limit, and Redis equal to the database within 30 s. The exit code is 1 if that was ever not so.

A round is repeated with its seed: --fault NAME --mode MODE --seed N --rounds 1.`,
		Example: "  seckill chaos\n  seckill chaos --rounds 500 --log runs.jsonl\n" +
			"  seckill chaos --fault 'commit.*:kill' --lock none\n  seckill chaos --mode queue --rounds 200",
		Args: cli.NoArgs,
	}
	cli.RefuseRemovedFlag(cmd, "rows", "a sale's units always come from the coupon's row")
	var o chaos.Options
	var pattern string
	var list bool
	var out chaos.Output
	f := cmd.Flags()
	f.IntVar(&o.Rounds, "rounds", 0, "how many rounds (default: every fault once)")
	f.Uint64Var(&o.Seed, "seed", 0, "of the first round, the others follow it (default: by the clock)")
	f.StringVar(&pattern, "fault", "", "a regular expression for the faults' names (default: all)")
	f.StringVar(&o.Lock, "lock", "redis", "redis, or none: the lock that lets everybody in")
	f.StringVar(&o.Mode, "mode", chaos.Sync, "sync, queue, or lottery: order.mode of the instances, and a queue whose first buyers are drawn")
	f.BoolVar(&o.Tokens, "purchase-tokens", false, "with order.purchase_token required: each buyer asks for a purchase token")
	f.IntVar(&o.Requests, "requests", 1000, "taps in a round")
	f.IntVar(&o.Attackers, "attackers", 300, "how many a flood has at once")
	f.IntVar(&o.Parallel, "parallel", 2, "rounds at once, each on stores of its own")
	f.StringVar(&o.Before, "before", "", "an earlier build with the same tag, for the faults of an upgrade (default: this program)")
	f.StringVar(&out.Page, "html", "", "write the report as a page, too")
	f.StringVar(&out.Log, "log", "", "append every round to this file as a line of JSON, and sum up all that is in it")
	f.BoolVar(&out.JSON, "json", false, "print the report as one JSON object")
	f.BoolVar(&list, "list", false, "print the names of the faults and do nothing")
	cli.CompleteWords(cmd, "lock", "redis", "none")
	cli.CompleteWords(cmd, "mode", chaos.Modes...)
	cli.CompleteFiles(cmd, map[string]string{"before": "", "html": "html", "log": "jsonl"})
	cmd.RunE = func(cmd *cobra.Command, _ []string) (err error) {
		if err := o.Check(); err != nil {
			return cli.Usage(err)
		}
		if o.Faults, err = chaos.Faults(o.Mode, pattern); err != nil {
			return cli.Usage(fmt.Errorf("--fault: %w", err))
		}
		if list {
			return chaos.WriteNames(c.Out, o.Faults)
		}
		o.Seed = cmp.Or(o.Seed, uint64(time.Now().Unix())) //nolint:gosec // it is after 1970
		out.Report, out.Progress = c.Out, c.Err
		if err := chaos.Play(cmd.Context(), o, out); !errors.Is(err, chaos.ErrBroken) {
			return err
		}
		return cli.ErrSilent
	}
	cmd.AddCommand(&cobra.Command{
		Use: "flood", Short: "Be the attackers of a flood, as a round says on the standard input", Hidden: true, Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return chaos.Flood(cmd.Context(), cmd.InOrStdin(), c.Out) },
	})
	cmd.AddCommand(newChaosDesigns(c))
	return cmd
}

func newChaosDesigns(c cli.Console) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "designs",
		Short: "Kill the program or Redis in the midst of a sale of each design",
		Long: `Sells with each right design twice: kill -9 ends the program in the first sale, and Redis
in the second. Both start again at once. There is one instance, and the Redis keeps nothing
on disk. The report compares the orders that were acknowledged with the rows.`,
		Example: "  seckill chaos designs\n  seckill chaos designs --design decr-then-queue --json",
		Args:    cli.NoArgs,
	}
	var o chaos.DesignOptions
	f := cmd.Flags()
	only := f.String("design", "", "only this one (default: all right designs)")
	f.IntVar(&o.Units, "units", 1500, "units on sale")
	asJSON := f.Bool("json", false, "print the report as one JSON object")
	cli.CompleteWords(cmd, "design", designs.Names()...)
	cmd.RunE = func(cmd *cobra.Command, _ []string) (err error) {
		o.Designs = chaos.RightDesigns()
		if *only != "" {
			o.Designs = []string{*only}
			if _, err := designs.New(*only, true); err != nil {
				return err
			}
		}
		if o.Units < 3 {
			return cli.Usage(errors.New("--units must be 3 or more"))
		}
		if o.Program, err = os.Executable(); err != nil {
			return fmt.Errorf("find this program: %w", err)
		}
		o.Each = func(r chaos.DesignResult) { _, _ = fmt.Fprintf(c.Err, "%s, %s killed\n", r.Design, r.Killed) }
		all, err := chaos.PlayDesigns(cmd.Context(), o)
		if err != nil {
			return err
		}
		if *asJSON {
			return json.NewEncoder(c.Out).Encode(all)
		}
		return chaos.WriteDesigns(c.Out, all)
	}
	return cmd
}
