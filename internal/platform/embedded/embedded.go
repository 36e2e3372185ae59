// Package embedded is Redis and a database inside this process, for a machine
// that has neither: a demonstration, and no place for real orders.
//
// It does not show everything. The database has one writer and no row locks,
// and all data is gone at Close.
//
//	Start ─▶ miniredis on a loopback port ◀─ ticker: keys expire
//	      └▶ a SQLite file in a folder of its own
//	Close ─▶ both away, the folder with them
package embedded

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/alicebob/miniredis/v2"
)

// Stores is a running pair. It is made by Start.
type Stores struct {
	redis  *miniredis.Miniredis
	addr   string // the server forgets it at Close
	folder string

	stopClock context.CancelFunc
	clock     sync.WaitGroup
	close     func() error
}

// Start starts both stores. They live until Close; ctx bounds the start only.
func Start(ctx context.Context) (*Stores, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("start the embedded stores: %w", err)
	}
	folder, err := os.MkdirTemp("", "seckill-") // mode 0700
	if err != nil {
		return nil, fmt.Errorf("make a folder for the embedded database: %w; point TMPDIR to a writable one", err)
	}
	redis := miniredis.NewMiniRedis()
	if err := redis.StartAddr("127.0.0.1:0"); err != nil {
		return nil, errors.Join(fmt.Errorf("start the embedded Redis: %w", err), os.RemoveAll(folder))
	}
	s := &Stores{redis: redis, addr: redis.Addr(), folder: folder}
	s.close = sync.OnceValue(s.closeAll)
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	s.stopClock = stop
	s.clock.Go(func() { runClock(running, redis) })
	return s, nil
}

// RedisAddr is host:port of the embedded Redis. It has no password.
func (s *Stores) RedisAddr() string { return s.addr }

// SQLitePath is the file of the embedded database. It appears with the first
// connection.
func (s *Stores) SQLitePath() string { return filepath.Join(s.folder, "seckill.db") }

// SQLiteDSN is the data source name for the driver glebarez/go-sqlite.
//
// A transaction takes the write lock at its begin (_txlock=immediate) and waits up to 5 s for it. A transaction that
// began by reading could not become a writer while another writes: it would fail at once. With WAL, readers do not
// wait.
// The setting synchronous NORMAL loses nothing when the process dies, and the data does not outlive the process
// anyway. Do not add _time_format: the driver stops reading at it and forgets _txlock.
func (s *Stores) SQLiteDSN() string {
	q := url.Values{
		"_pragma": {"busy_timeout(5000)", "journal_mode(WAL)", "synchronous(NORMAL)", "foreign_keys(1)"},
		"_txlock": {"immediate"},
	}
	return (&url.URL{Scheme: "file", Path: uriPath(s.SQLitePath()), RawQuery: q.Encode()}).String()
}

// uriPath returns a path of a file as SQLite wants it in a URI: with slashes, and with one before a drive's letter.
func uriPath(file string) string {
	path := filepath.ToSlash(file)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	return path
}

// Notice returns the line for the log at start: the embedded stores and their limits.
func (s *Stores) Notice() string {
	return "embedded stores: Redis (miniredis) at " + s.RedisAddr() + " and SQLite in " + s.folder +
		"; no row locks, one writer, data gone at exit: set redis.addrs and mysql.dsn for real ones"
}

// Close stops both and removes the folder. Close the clients first. It may be
// called again, and returns the same.
func (s *Stores) Close() error { return s.close() }

func (s *Stores) closeAll() error {
	s.stopClock()
	s.clock.Wait()
	s.redis.Close()
	if err := os.RemoveAll(s.folder); err != nil {
		return fmt.Errorf("remove the embedded database: %w", err)
	}
	return nil
}
