package bench

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/seckill/internal/tools/servers"
)

// counters are what the processes and servers have counted so far.
type counters struct {
	program, database, redis, crowd time.Duration // processor time

	scripts, commands, redisIn, redisOut, redisUsed float64
	statements, commits, written, read, in, out     float64
	fsyncs, redo                                    float64
	nodes                                           []float64 // scripts of each Redis
}

// statsSource is where the counters are. A server that is absent counts nothing.
type statsSource struct {
	programs, nodes []int // process ids
	database        int   // the same; 0 = none
	db              *sql.DB
	rdb             []*redis.Client // of the nodes
}

// look reads all counters. It costs the servers a handful of statements, which are counted too,
// against the thousands of a round.
func (w statsSource) look(ctx context.Context) (c counters, err error) {
	for _, p := range []struct {
		pids []int
		into *time.Duration
	}{{w.programs, &c.program}, {[]int{w.database}, &c.database}, {w.nodes, &c.redis}, {[]int{os.Getpid()}, &c.crowd}} {
		for _, pid := range p.pids {
			if pid == 0 {
				continue
			}
			used, err := servers.CPU(pid)
			if err != nil {
				return c, err
			}
			*p.into += used
		}
	}
	for _, rdb := range w.rdb {
		before := c.scripts
		err = errors.Join(err, lookAtRedis(ctx, rdb, &c))
		c.nodes = append(c.nodes, c.scripts-before)
	}
	if w.db != nil {
		err = errors.Join(err, w.lookAtDatabase(ctx, &c))
	}
	return c, err
}

func lookAtRedis(ctx context.Context, rdb *redis.Client, c *counters) error {
	stats, err := rdb.Info(ctx, "stats", "commandstats", "memory").Result()
	if err != nil {
		return fmt.Errorf("read the counters of Redis: %w", err)
	}
	for line := range strings.Lines(stats) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		command, isCommand := strings.CutPrefix(name, "cmdstat_")
		switch {
		case name == "total_net_input_bytes":
			c.redisIn += number(value)
		case name == "total_net_output_bytes":
			c.redisOut += number(value)
		case name == "used_memory":
			c.redisUsed += number(value)
		case !isCommand:
		case strings.HasPrefix(command, "eval"), strings.HasPrefix(command, "fcall"):
			c.scripts += calls(value)
		default:
			c.commands += calls(value)
		}
	}
	return nil
}

// calls parses calls=3,usec=….
func calls(value string) float64 {
	first, _, _ := strings.Cut(value, ",")
	return number(strings.TrimPrefix(first, "calls="))
}

// number parses a number, and returns 0 for a counter that this version does not have.
func number(text string) float64 {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0
	}
	return n
}

func (w statsSource) lookAtDatabase(ctx context.Context, c *counters) error {
	into := map[string]*float64{
		"Questions": &c.statements, "Com_commit": &c.commits,
		"Handler_write": &c.written, "Handler_update": &c.written, "Handler_delete": &c.written,
		"Handler_read_key": &c.read, "Handler_read_next": &c.read, "Handler_read_rnd_next": &c.read,
		"Bytes_received": &c.in, "Bytes_sent": &c.out,
		"Innodb_os_log_written": &c.redo, "Innodb_data_fsyncs": &c.fsyncs, "Innodb_os_log_fsyncs": &c.fsyncs,
	}
	rows, err := w.db.QueryContext(ctx, "SHOW GLOBAL STATUS")
	if err != nil {
		return fmt.Errorf("read the counters of the database: %w", err)
	}
	defer func() { _ = rows.Close() }() // Err below returns the same error
	for rows.Next() {
		var name, value string
		if err := rows.Scan(&name, &value); err != nil {
			return fmt.Errorf("read a counter of the database: %w", err)
		}
		if n := into[name]; n != nil {
			*n += number(value)
		}
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("read the counters of the database: %w", err)
	}
	return nil
}

// each sets the figures that were counted between two readings, per answer.
func (f *figures) each(before, after counters, answers float64) {
	micros := func(b, a time.Duration) float64 { return over(float64((a - b).Microseconds()), answers) }
	per := func(b, a float64) float64 { return over(a-b, answers) }
	f[cpuProgram] = micros(before.program, after.program)
	f[cpuDatabase] = micros(before.database, after.database)
	f[cpuRedis] = micros(before.redis, after.redis)
	f[cpuCrowd] = micros(before.crowd, after.crowd)
	f[cpuAll] = f[cpuProgram] + f[cpuDatabase] + f[cpuRedis] + f[cpuCrowd]
	f[redisScripts] = per(before.scripts, after.scripts)
	f[redisCommands] = per(before.commands, after.commands)
	f[redisIn] = per(before.redisIn, after.redisIn)
	f[redisOut] = per(before.redisOut, after.redisOut)
	f[redisMemory] = per(before.redisUsed, after.redisUsed)
	for n := range after.nodes {
		f[busiest] = max(f[busiest], over(after.nodes[n]-before.nodes[n], after.scripts-before.scripts))
	}
	f[statements] = per(before.statements, after.statements)
	f[commits] = per(before.commits, after.commits)
	f[rowsWritten] = per(before.written, after.written)
	f[rowsRead] = per(before.read, after.read)
	f[databaseIn] = per(before.in, after.in)
	f[databaseOut] = per(before.out, after.out)
	f[fsyncs] = per(before.fsyncs, after.fsyncs)
	f[redoBytes] = per(before.redo, after.redo)
}
