package scale

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"example.com/seckill/internal/platform/system"
	"example.com/seckill/internal/testing/gobuild"
	"example.com/seckill/internal/testing/schedlatency"
	"example.com/seckill/internal/tools/servers"
)

// Starter starts the servers of a sale, which their Close ends.
type Starter func(ctx context.Context) (*servers.Env, error)

// workspace is the folder and the program of a run.
type workspace struct {
	Options

	undisturbed bool // Redis has the highest priority
	latency     *schedlatency.Watch
	dir         string
	close       func() error // removes the folder
	secret      string

	nextProgram string // the next version of the program, once it is built
	nextVersion int    // of its schema
}

const (
	folders     = "seckill-scale"
	bytesABuyer = 2 << 10 // on disk, in both stores
	leastFree   = 1 << 30
)

func openWorkspace(ctx context.Context, o Options) (_ *workspace, err error) {
	h := &workspace{Options: o, secret: rand.Text() + rand.Text()}
	if h.dir, h.close, err = servers.NewFolder(os.TempDir(), folders+"-"); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, h.close())
		}
	}()
	has, err := system.FreeBytes(h.dir)
	if err != nil {
		return nil, fmt.Errorf("look for room on the disk: %w", err)
	}
	if needs := uint64(o.Buyers*bytesABuyer + leastFree); has < needs { //nolint:gosec // positive
		return nil, fmt.Errorf("%s has %d MiB free, and %d buyers need %d: set TMPDIR", h.dir, has>>20, o.Buyers, needs>>20)
	}
	if h.Servers == nil {
		h.Servers = h.startServers
	}
	if err := h.build(ctx, &h.Program, "./cmd/seckill"); err != nil {
		return nil, err
	}
	return h, h.build(ctx, &h.Latency, schedlatency.Command)
}

// build builds a program, unless there is one.
func (h *workspace) build(ctx context.Context, program *string, pkg string) error {
	if *program != "" {
		return nil
	}
	*program = filepath.Join(h.dir, filepath.Base(pkg))
	return gobuild.Build(ctx, h.Root, *program, pkg, gobuild.Tags)
}

// startServers starts servers for one sale alone. The database has room for a million buyers in memory and in its
// redo log, or what an order costs would grow with the pages that are written to the disk again and again.
// Redis has the highest priority if that may be given: what a call takes is to be its own time, and not also
// that of other processes on its core.
func (h *workspace) startServers(ctx context.Context) (*servers.Env, error) {
	e, err := servers.NewEnv(folders)
	if err != nil {
		return nil, err
	}
	err = e.StartMariaDB(ctx, servers.Set("innodb-buffer-pool-size", "1G"), servers.Set("innodb-log-file-size", "1G"))
	if err == nil {
		_, err = e.StartRedis(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, e.Close())
	}
	h.undisturbed = raisePriority(e.Redis.PID()) == nil
	return e, nil
}
