package bench

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/seckill/internal/testing/gobuild"
	"example.com/seckill/internal/testing/schedlatency"
	"example.com/seckill/internal/tools/servers"
)

// env is the servers and the two programs of a run.
type env struct {
	*servers.Env

	program string // seckill
	bare    string
	latency *schedlatency.Watch // measures the machine's own delays
	rdb     *redis.Client
	secret  string
}

const openTimeout = 5 * time.Minute // the first build of the program takes minutes on a small machine

// openEnv builds both programs from the module at root and starts the servers. After an error, nothing is left
// running.
func openEnv(ctx context.Context, root string) (_ *env, err error) {
	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	h, err := newEnv(ctx, root)
	if err != nil {
		return nil, err
	}
	if h.bare, err = build(ctx, root, h.Dir, "./internal/testing/bench/cmd/bare"); err == nil {
		err = h.openServers(ctx)
	}
	if err == nil {
		err = h.watchLatency(ctx, root)
	}
	if err != nil {
		return nil, errors.Join(err, h.Close())
	}
	return h, nil
}

// watchLatency starts to measure the machine's own delays, if the machine lets a thread have the highest
// priority.
func (h *env) watchLatency(ctx context.Context, root string) error {
	program, err := build(ctx, root, h.Dir, schedlatency.Command)
	if err != nil {
		return err
	}
	if h.latency, err = schedlatency.Start(ctx, program); err != nil {
		return context.Cause(ctx) // if ctx has not ended, the run goes on without the latency
	}
	h.OnClose(func() error { h.latency.Close(); return nil })
	return nil
}

// newEnv returns an env with the program and without servers.
func newEnv(ctx context.Context, root string) (_ *env, err error) {
	h := &env{secret: rand.Text() + rand.Text()}
	if h.Env, err = servers.NewEnv("seckill-bench"); err != nil {
		return nil, err
	}
	if h.program, err = build(ctx, root, h.Dir, "./cmd/seckill"); err != nil {
		return nil, errors.Join(err, h.Close())
	}
	return h, nil
}

// openServers starts a MariaDB and a Redis. After an error, Close stops the servers that were started.
func (h *env) openServers(ctx context.Context) (err error) {
	if err = h.StartMariaDB(ctx); err != nil {
		return err
	}
	if _, err = h.StartRedis(ctx); err != nil {
		return err
	}
	h.rdb = redis.NewClient(&redis.Options{Addr: h.Redis.Addr()})
	h.OnClose(h.rdb.Close)
	return nil
}

// build compiles a program of the module at root into dir, as a user would, and returns the path of the
// program. The tests replace build with a function that adds the race detector, if the tests have it, and that
// links only changed programs.
var build = func(ctx context.Context, root, dir, pkg string) (string, error) {
	program := filepath.Join(dir, filepath.Base(pkg))
	return program, gobuild.Build(ctx, root, program, pkg, gobuild.Tags)
}

// refuses reports whether the program rejects these settings.
func (h *env) refuses(ctx context.Context, env []string) (bool, error) {
	cmd := servers.Command(ctx, h.Dir, h.program, append(h.settings("root@tcp(127.0.0.1:1)/none"+timeouts), env...), "token", "--user", "1")
	out, err := cmd.CombinedOutput()
	const usage = 2 // the program's exit code for settings that it rejects
	if failed, ok := errors.AsType[*exec.ExitError](err); ok && failed.ExitCode() == usage {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("ask the program about %v: %w: %s", env, err, out)
	}
	return false, nil
}

const timeouts = "?timeout=2s&readTimeout=5s&writeTimeout=5s"

// settings returns the settings of every path. The rate limit per user is off: the workload is a generator, and
// in some paths few users send very many requests.
func (h *env) settings(dsn string) []string {
	return []string{
		"SECKILL_MYSQL__DSN=" + dsn, "SECKILL_REDIS__ADDRS=" + h.Redis.Addr(), "SECKILL_AUTH__SECRET=" + h.secret,
		freePort, freeAdminPort, jsonLog, "SECKILL_HTTP__DRAIN_DELAY=1s", "SECKILL_RATE_LIMIT__PER_USER=0", "SECKILL_ALLOW_UNSAFE_LOCK=1",
	}
}

// The addresses of a started program. The program logs its ports.
const (
	freePort      = "SECKILL_HTTP__ADDR=127.0.0.1:0"
	freeAdminPort = "SECKILL_ADMIN__ADDR=127.0.0.1:0"
	jsonLog       = "SECKILL_LOG__FORMAT=json"
)
