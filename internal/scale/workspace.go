package scale

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"seckill/internal/testbed/servers"
)

// Starter starts the servers of a sale with their data in dir, and gives what stops them.
type Starter func(ctx context.Context, dir string) (*servers.MariaDB, *servers.Redis, func() error, error)

// workspace is the folder and the program of a run.
type workspace struct {
	undisturbed bool // Redis has the highest priority
	Options
	dir    string
	lock   int // of the folder, held until the process ends
	secret string

	nextProgram string // the next version of the program, once it is built
	nextVersion int    // of its schema
}

const (
	folders     = "seckill-scale-"
	bytesABuyer = 2 << 10 // on disk, in both stores
	leastFree   = 1 << 30

	highestPriority = -20
)

func openWorkspace(ctx context.Context, o Options) (_ *workspace, err error) {
	h := &workspace{Options: o, secret: rand.Text() + rand.Text(), lock: -1}
	if h.dir, err = makeFolder(); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, h.close())
		}
	}()
	if h.lock, err = lockFolder(h.dir); err != nil {
		return nil, err
	}
	var free syscall.Statfs_t
	if err := syscall.Statfs(h.dir, &free); err != nil {
		return nil, fmt.Errorf("look for room on the disk: %w", err)
	}
	if has, needs := free.Bavail*uint64(free.Bsize), uint64(o.Buyers*bytesABuyer+leastFree); has < needs { //nolint:gosec // positive
		return nil, fmt.Errorf("%s has %d MiB free, and %d buyers need %d: set TMPDIR", h.dir, has>>20, o.Buyers, needs>>20)
	}
	if h.Servers == nil {
		h.Servers = h.startServers
	}
	if h.Program == "" {
		h.Program = filepath.Join(h.dir, "seckill")
		cmd := exec.CommandContext(ctx, "go", "build", "-tags=nomsgpack", "-o", h.Program, "./cmd/seckill") //nolint:gosec // our own
		cmd.Dir = o.Root
		if out, err := cmd.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("build the program: %w: %s", err, out)
		}
	}
	return h, nil
}

// makeFolder makes the folder of a run, and removes those that killed runs have left: a
// folder that is in use is locked by its run.
func makeFolder() (string, error) {
	left, err := filepath.Glob(filepath.Join(os.TempDir(), folders+"*"))
	if err != nil {
		return "", fmt.Errorf("look for the folders of earlier runs: %w", err)
	}
	for _, dir := range left {
		info, err := os.Stat(dir)
		if err != nil || time.Since(info.ModTime()) < time.Minute { // it may not be locked yet
			continue
		}
		if fd, err := lockFolder(dir); err == nil {
			_ = os.RemoveAll(dir) // another user's stays
			_ = syscall.Close(fd)
		}
	}
	dir, err := os.MkdirTemp("", folders)
	if err != nil {
		return "", fmt.Errorf("make a folder: %w", err)
	}
	return dir, nil
}

func lockFolder(dir string) (int, error) {
	fd, err := syscall.Open(dir, syscall.O_RDONLY|syscall.O_DIRECTORY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("open %s: %w", dir, err)
	}
	if err := syscall.Flock(fd, syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = syscall.Close(fd)
		return -1, fmt.Errorf("lock %s: %w", dir, err)
	}
	return fd, nil
}

func (h *workspace) close() error {
	err := os.RemoveAll(h.dir)
	if h.lock >= 0 {
		err = errors.Join(err, syscall.Close(h.lock))
	}
	return err
}

// startServers starts servers for one sale alone. The database has room for all of it in memory and in its
// redo log, or what an order costs would grow with the pages that are written to the disk again and again.
// Redis has the highest priority if that may be given: what a call takes is to be its own time, and not also
// that of other processes on its core.
func (h *workspace) startServers(ctx context.Context, dir string) (*servers.MariaDB, *servers.Redis, func() error, error) {
	maria, err := servers.StartMariaDB(ctx, filepath.Join(dir, "db"),
		servers.Set("innodb-buffer-pool-size", "1G"), servers.Set("innodb-log-file-size", "1G"))
	if err != nil {
		return nil, nil, nil, err
	}
	redis, err := servers.StartRedis(ctx, filepath.Join(dir, "redis"))
	if err != nil {
		return nil, nil, nil, errors.Join(err, maria.Stop())
	}
	h.undisturbed = syscall.Setpriority(syscall.PRIO_PROCESS, redis.PID(), highestPriority) == nil
	return maria, redis, func() error {
		return errors.Join(redis.Stop(), maria.Stop(), os.RemoveAll(dir))
	}, nil
}

// command is a program in an environment of its own: no setting of the caller may
// reach it.
func (h *workspace) command(program string, settings []string, args ...string) *exec.Cmd {
	cmd := exec.Command(program, args...) //nolint:gosec,noctx // built by ourselves; run ends it with its context
	cmd.Dir = h.dir
	cmd.Env = servers.Environ(h.dir, settings...)
	return cmd
}
