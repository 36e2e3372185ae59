package scale

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/seckill/internal/stock"
	"example.com/seckill/internal/tools/servers"
)

// watch measures while a phase is played.
type watch struct {
	*sale
	cpu     time.Duration // that was used before
	machine machineUse    // before, with that of this process
	rowHeld time.Duration
	others  latencies
	failed  error
	running sync.WaitGroup
	end     context.CancelFunc
}

// slowAfter is from when on a call of Redis is noted, in microseconds.
const slowAfter = 300

func (s *sale) watch(ctx context.Context) (*watch, error) {
	w := &watch{sale: s}
	for name, value := range map[string]string{"slowlog-log-slower-than": strconv.Itoa(slowAfter), "slowlog-max-len": "20000"} {
		if err := s.client.ConfigSet(ctx, name, value).Err(); err != nil {
			return nil, fmt.Errorf("have slow calls noted: %w", err)
		}
	}
	err := errors.Join(s.client.SlowLogReset(ctx).Err(), s.client.ConfigResetStat(ctx).Err())
	if err != nil {
		return nil, fmt.Errorf("forget earlier calls: %w", err)
	}
	for _, pid := range s.pids() {
		err = errors.Join(err, servers.ResetPeakMemory(pid))
	}
	used, failed := s.used()
	if err = errors.Join(err, failed); err != nil {
		return nil, err
	}
	w.cpu, w.machine = used, useOfMachine()
	if _, err := s.latency.Longest(ctx); err != nil { // before the phase
		return nil, err
	}
	ctx, w.end = context.WithCancel(ctx)
	w.running.Go(func() { w.watchRow(ctx) })
	w.running.Go(func() { w.others = s.buyOthers(ctx) })
	return w, nil
}

// pids are the program, Redis and the database, and the instance that draws once it runs.
func (s *sale) pids() []int {
	all := []int{s.program.PID(), s.Redis.PID(), s.MariaDB.PID()}
	if s.drawer != nil {
		all = append(all, s.drawer.PID())
	}
	return all
}

func (s *sale) used() (all time.Duration, err error) {
	for _, pid := range s.pids() {
		one, failed := servers.CPU(pid)
		all, err = all+one, errors.Join(err, failed)
	}
	return all, err
}

// stop writes the measurements into the row.
func (w *watch) stop(ctx context.Context, r *Row) error {
	w.end()
	w.running.Wait()
	used, err := w.used()
	r.CPU += used - w.cpu
	r.Foreign = useOfMachine().foreign(w.machine, r.CPU)
	peak := make([]int64, len(w.pids()))
	for i, pid := range w.pids() {
		one, failed := servers.PeakMemory(pid)
		peak[i], err = one, errors.Join(err, failed)
	}
	program := max(peak[0], slices.Max(append(peak[3:], 0)))
	r.Memory = Memory{Program: max(r.Memory.Program, program), Redis: peak[1], Database: peak[2]}
	r.RowHeld, r.Others = w.rowHeld, w.others.summary()
	if ctx.Err() != nil {
		return errors.Join(err, context.Cause(ctx))
	}
	late, unknown := w.latency.Longest(ctx)
	r.SchedLatency = late
	calls, failed := w.client.SlowLogGet(ctx, -1).Result()
	info, denied := w.client.InfoMap(ctx, "latencystats").Result()
	if err = errors.Join(err, unknown, failed, denied, w.failed); err != nil {
		return err
	}
	r.Call = slowest(calls)
	r.Call.P99, r.Call.Median = slowestAt("p99=", info["Latencystats"]), slowestAt("p50=", info["Latencystats"])
	return nil
}

// slowest is the call of the program that kept Redis busy for the longest time.
func slowest(calls []redis.SlowLog) (most Call) {
	for _, one := range calls {
		if one.ClientName != clientName && one.Duration > most.Took {
			most = Call{Took: one.Duration, What: describe(one.Args)}
		}
	}
	return most
}

// ownCalls are commands that only the generator uses.
var ownCalls = []string{"info", "slowlog", "config", "flushall", "zcard", "exists", "client", "hello"}

// slowestAt is a percentile, "p99=", of the command for which it is the largest.
func slowestAt(percentile string, stats map[string]string) (most time.Duration) {
	for name, text := range stats {
		command, ok := strings.CutPrefix(name, "latency_percentiles_usec_")
		command, _, _ = strings.Cut(command, "|")
		if _, after, found := strings.Cut(text, percentile); ok && found && !slices.Contains(ownCalls, command) {
			digits, _, _ := strings.Cut(after, ",")
			micros, err := strconv.ParseFloat(digits, 64)
			if err == nil {
				most = max(most, time.Duration(micros*float64(time.Microsecond)))
			}
		}
	}
	return most
}

// describe is a call without its arguments: those of a page are many.
func describe(args []string) string {
	if len(args) > 1 && strings.EqualFold(args[0], "evalsha") {
		name := stock.ScriptName(args[1])
		if name == "" {
			name = args[1]
		}
		return fmt.Sprintf("script %s, %d arguments", name, len(args)-2)
	}
	if len(args) == 0 {
		return ""
	}
	return fmt.Sprintf("%s, %d arguments", args[0], len(args)-1)
}

// askRowEvery is the time between two requests for the lock of the coupon's row.
const askRowEvery = 3 * time.Millisecond

// watchRow asks for the lock of the coupon's row again and again, as an order does, and notes
// the longest wait: no transaction has held the row for longer.
func (w *watch) watchRow(ctx context.Context) {
	db, err := w.raw.Conn(ctx)
	if err != nil {
		return // the phase has ended
	}
	defer func() { _ = db.Close() }()
	next := time.NewTicker(askRowEvery)
	defer next.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-next.C:
		}
		coupon := w.watched.Load()
		if coupon == nil {
			continue
		}
		var id int64
		began := time.Now()
		err := db.QueryRowContext(ctx, "SELECT id FROM coupons WHERE id = ? FOR UPDATE", *coupon).Scan(&id)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			w.failed = fmt.Errorf("ask for the coupon's row: %w", err)
			return
		}
		w.rowHeld = max(w.rowHeld, time.Since(began))
	}
}
