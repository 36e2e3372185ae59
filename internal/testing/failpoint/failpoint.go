// Package failpoint breaks individual calls between an instance and its stores, in the process of a test:
//
//	instance ─▶ the n-th command, statement or commit ─▶ the store
//	                 └ never arrives, or its reply is lost
//
// Package faultnet breaks the network between processes. Package internal/testing/faults has the points of the
// order path.
package failpoint

import (
	"context"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// Failure is how a call fails.
type Failure struct {
	Executed bool // the store executed the call, and the reply is lost; otherwise the call never arrived
	// Away lists the stores that are unavailable from then on, until Heal is called: no store, the store that
	// was called, or every store, as for a killed instance.
	Away Scope
}

// Scope is the set of unavailable stores.
type Scope int

// The scopes, from none to all.
const (
	Nothing Scope = iota
	TheStore
	Everything
)

// Failures are all kinds of failures, by a readable name.
var Failures = map[string]Failure{
	"never arrived":                        {false, Nothing},
	"the reply is lost":                    {true, Nothing},
	"never arrived, its store is away":     {false, TheStore},
	"the reply is lost, its store is away": {true, TheStore},
	"killed before":                        {false, Everything},
	"killed after":                         {true, Everything},
}

// Injector breaks the n-th call that an instance makes to its stores. A call is a command or a pipeline to
// Redis, or a statement, a begin, a commit or a rollback to the database. A call that never arrived and a call
// whose reply is lost look the same to the caller: the connection is reset.
type Injector struct {
	mu    sync.Mutex
	armed bool
	n     int // calls until the failing one
	way   Failure
	hit   string // the call that failed
	away  map[string]bool
}

var errReset = &net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET}

// The names of the stores in the description of a call.
const (
	database = "database"
	inRedis  = "redis"
)

type mine struct{}

// Arm makes the n-th call fail, counted from 1. It counts the Redis calls on the returned context, and not
// those of background work. It counts all calls to the database, because those calls carry no context.
func (w *Injector) Arm(ctx context.Context, n int, way Failure) context.Context {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.armed, w.n, w.way, w.hit, w.away = true, n, way, "", map[string]bool{}
	return context.WithValue(ctx, mine{}, true)
}

// Heal lets all calls through and returns the call that failed. It returns "" if no call failed.
func (w *Injector) Heal() (hit string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.armed, w.away = false, nil
	return w.hit
}

// next counts a call, and reports whether the call arrives at the store and whether its answer comes back.
func (w *Injector) next(counts bool, store, call string) (arrives, answered bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.armed {
		return true, true
	}
	if w.away[store] {
		return false, false
	}
	if !counts {
		return true, true
	}
	if w.n--; w.n != 0 {
		return true, true
	}
	w.hit = store + ": " + call
	switch w.way.Away {
	case Nothing:
	case TheStore:
		w.away[store] = true
	case Everything:
		w.away[database], w.away[inRedis] = true, true
	}
	return w.way.Executed, false
}

func (w *Injector) isAway(store string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.away[store]
}

// DialHook makes no connection while Redis is unavailable.
func (w *Injector) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		if w.isAway(inRedis) {
			return nil, errReset
		}
		return next(ctx, network, addr)
	}
}

// ProcessHook breaks commands.
func (w *Injector) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		return w.redis(ctx, cmd.FullName(), []redis.Cmder{cmd}, func() error { return next(ctx, cmd) })
	}
}

// ProcessPipelineHook breaks pipelines.
func (w *Injector) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		return w.redis(ctx, "pipeline", cmds, func() error { return next(ctx, cmds) })
	}
}

func (w *Injector) redis(ctx context.Context, name string, cmds []redis.Cmder, do func() error) error {
	arrives, answered := w.next(ctx.Value(mine{}) != nil, inRedis, name)
	if answered {
		return do()
	}
	if arrives {
		_ = do() // the caller never gets the result
	}
	for _, cmd := range cmds {
		cmd.SetErr(errReset)
	}
	return errReset
}

var wires atomic.Int64

// DSN returns the DSN with connections that the Injector breaks.
func (w *Injector) DSN(t testing.TB, dsn string) string {
	t.Helper()
	cfg, err := mysql.ParseDSN(dsn)
	require.NoError(t, err)
	network := cfg.Net
	cfg.Net = "wire" + strconv.FormatInt(wires.Add(1), 10)
	mysql.RegisterDialContext(cfg.Net, func(ctx context.Context, addr string) (net.Conn, error) {
		if w.isAway(database) {
			return nil, &net.OpError{Op: "dial", Net: network, Err: syscall.ECONNREFUSED}
		}
		c, err := (&net.Dialer{}).DialContext(ctx, network, addr)
		if err != nil {
			return nil, err //nolint:wrapcheck // as the driver's own dialer
		}
		return &conn{Conn: c, w: w}, nil
	})
	t.Cleanup(func() { mysql.DeregisterDialContext(cfg.Net) })
	return cfg.FormatDSN()
}

// conn is a connection to the database. The driver writes each command in one piece. The fourth byte of the
// piece is 0 and the fifth is the kind of the command.
type conn struct {
	net.Conn
	w     *Injector
	reset atomic.Bool
}

const quits = 1 // the command that ends a connection

// Write sends a command, unless the Injector breaks it.
func (c *conn) Write(p []byte) (int, error) {
	if c.reset.Load() {
		return 0, errReset
	}
	if len(p) < 5 || p[3] != 0 || p[4] == quits {
		return c.Conn.Write(p) //nolint:wrapcheck // it stands for the connection
	}
	arrives, answered := c.w.next(true, database, words(p[5:]))
	if answered {
		return c.Conn.Write(p) //nolint:wrapcheck // as above
	}
	if arrives {
		if _, err := c.Conn.Write(p); err == nil {
			_, _ = c.Conn.Read(make([]byte, 1)) // the server has answered, so it is done
		}
	}
	c.reset.Store(true)
	return len(p), nil
}

// Read reads, unless the connection is reset.
func (c *conn) Read(p []byte) (int, error) {
	if c.reset.Load() {
		return 0, errReset
	}
	return c.Conn.Read(p) //nolint:wrapcheck // as above
}

// words returns the first words of a statement.
func words(statement []byte) string {
	f := strings.Fields(string(statement[:min(len(statement), 60)]))
	return strings.Join(f[:min(len(f), 4)], " ")
}
