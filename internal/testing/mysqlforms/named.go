package mysqlforms

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-sql-driver/mysql"

	"example.com/seckill/internal/lock"
	"example.com/seckill/internal/lock/mysqllock"
)

const (
	nameSQL    = "SELECT GET_LOCK(?, 0), CONNECTION_ID()"
	patienceSQ = "SET SESSION wait_timeout = ?"
	ownSQL     = "SELECT IS_USED_LOCK(?) = CONNECTION_ID()"
	unnameSQL  = "SELECT RELEASE_LOCK(?)"

	defaultWatch = 100 * time.Millisecond
	lookConns    = 2 // one for the watch, one for releases
	// unleased is how many seconds the server waits for a connection that holds
	// no key. The pool closes an idle connection earlier, after idleTime.
	unleased = "60"
	idleTime = 30 * time.Second
)

// NamedOptions are the settings of a Named.
type NamedOptions struct {
	// Fencer returns the fence of each grant. Without one every fence is 0 and guards
	// nothing.
	Fencer lock.Fencer
	// Conns is how many connections there may be: one for each key that is held, and
	// a few for callers that ask for a key. Default 16. A call that finds none waits, and then fails. Two
	// more connections watch the keys that are held.
	Conns int
	// Watch is the time between two looks at the keys that are held. Default 100 ms.
	Watch time.Duration
}

// Named is a lock.Backend, and a lock.FenceAdvancer if it has a Fencer: a key is a named
// lock of the server, GET_LOCK, which belongs to a connection.
type Named struct {
	pool     *sql.DB
	looks    *sql.DB // for looking: all connections of the pool may be pinned
	database string  // named locks are the whole server's
	o        NamedOptions

	mu       sync.Mutex
	held     map[holder]*pinned
	watching bool
	tasks    sync.WaitGroup
}

type holder struct{ key, token string }

var (
	_ lock.Backend       = (*Named)(nil)
	_ lock.FenceAdvancer = (*Named)(nil)
)

// NewNamed returns a Named with a pool of its own, because work that needs a
// connection while all are pinned by callers that wait for it would wait for ever.
func NewNamed(dsn string, o NamedOptions) (*Named, error) {
	c, err := mysql.ParseDSN(dsn)
	if err != nil {
		return nil, errors.New("mysqlforms: the DSN cannot be parsed") // the driver's error may quote the password
	}
	// A call is bounded by its context. A timeout of the connection would end a
	// renewal that waits for a network to come back, and the lock with it.
	c.ReadTimeout, c.WriteTimeout = 0, 0
	if c.Params == nil {
		c.Params = map[string]string{}
	}
	c.Params["wait_timeout"] = unleased
	dsn = c.FormatDSN()
	pool, err := mysqllock.Open(dsn, o.Conns)
	if err != nil {
		return nil, fmt.Errorf("mysqlforms: %w", err)
	}
	looks, err := mysqllock.Open(dsn, lookConns)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("mysqlforms: %w", err), pool.Close())
	}
	pool.SetConnMaxIdleTime(idleTime)
	looks.SetConnMaxIdleTime(idleTime)
	if o.Watch <= 0 {
		o.Watch = defaultWatch
	}
	return &Named{pool: pool, looks: looks, database: c.DBName, o: o, held: map[holder]*pinned{}}, nil
}

// Close ends each lease that is still held, and closes the pools.
func (n *Named) Close() {
	n.mu.Lock()
	for h := range n.held {
		n.drop(h)
	}
	n.mu.Unlock()
	n.tasks.Wait()
	_, _ = n.pool.Close(), n.looks.Close() // they fail for connections that were cut and cannot say goodbye
}

// nameOf fits every key into the 64 characters of a name, and keeps databases of one
// server, and names that differ in case only, apart.
func (n *Named) nameOf(key string) string {
	sum := sha256.Sum256([]byte(n.database + "\x00" + key))
	return "seckill:" + hex.EncodeToString(sum[:28])
}

// Acquire takes key, and pins the connection that has it. The server does not say
// how long another will keep a key.
func (n *Named) Acquire(ctx context.Context, key, token string, lease time.Duration) (lock.Grant, error) {
	h := holder{key, token}
	if p := n.find(h); p != nil { // a repeat
		if err := n.Renew(ctx, key, token, lease); err == nil {
			return lock.Grant{Fence: p.fence, Gone: p.gone}, nil
		} else if !errors.Is(err, lock.ErrNotHeld) {
			return lock.Grant{}, err
		}
	}
	conn, err := n.pool.Conn(ctx)
	if err != nil {
		return lock.Grant{}, fmt.Errorf("mysqlforms: acquire: %w", err)
	}
	p, err := n.pin(ctx, conn, key, lease)
	if err != nil {
		return lock.Grant{}, err
	}
	if n.o.Fencer != nil {
		if p.fence, err = n.o.Fencer.NextFence(ctx, key); err != nil {
			p.unpin(false)
			return lock.Grant{}, fmt.Errorf("mysqlforms: acquire: the fence: %w", err)
		}
	}
	n.keep(h, p, lease)
	return lock.Grant{Fence: p.fence, Gone: p.gone}, nil
}

// pin asks for the name and then sets how long the server waits for this connection
// to say something: that is the lease, in whole seconds, by the server's clock.
func (n *Named) pin(ctx context.Context, conn *sql.Conn, key string, lease time.Duration) (*pinned, error) {
	var got sql.NullInt64
	p := newPinned(conn, n.nameOf(key), lease)
	err := conn.QueryRowContext(ctx, nameSQL, p.name).Scan(&got, &p.id)
	switch {
	case err != nil: // it may have it all the same
		p.unpin(false)
		return nil, fmt.Errorf("mysqlforms: acquire: %w", err)
	case got.Int64 != 1:
		p.unpin(true)
		return nil, &lock.HeldError{Key: key}
	}
	if _, err := conn.ExecContext(ctx, patienceSQ, seconds(lease)); err != nil {
		p.unpin(false)
		return nil, fmt.Errorf("mysqlforms: acquire: %w", err)
	}
	return p, nil
}

// Renew lets the connection say something, and asks whether it still has the name. A
// silence shorter than the lease does no harm; a connection that is gone is a lease
// that is gone.
func (n *Named) Renew(ctx context.Context, key, token string, lease time.Duration) error {
	h := holder{key, token}
	p := n.find(h)
	if p == nil {
		return lock.ErrNotHeld
	}
	err := n.confirm(ctx, p, lease)
	switch {
	case err == nil && n.prolong(h, p, lease):
		return nil
	case err == nil || errors.Is(err, lock.ErrNotHeld):
		n.mu.Lock()
		defer n.mu.Unlock()
		if n.held[h] == p {
			n.drop(h)
		}
		return errors.Join(lock.ErrNotHeld, err)
	default:
		return fmt.Errorf("mysqlforms: renew: %w", err)
	}
}

// Release frees the name and gives its connection back to the pool. If the server
// does not answer the connection is closed, and the name goes with it as soon as the
// server notices.
func (n *Named) Release(ctx context.Context, key, token string) error {
	h := holder{key, token}
	n.mu.Lock()
	p := n.held[h]
	if p != nil {
		p.end.Stop()
		delete(n.held, h)
	}
	n.mu.Unlock()
	if p == nil {
		return lock.ErrNotHeld
	}
	defer p.tell()
	var freed sql.NullInt64
	err := p.quiet(ctx)
	if err == nil {
		err = p.conn.QueryRowContext(ctx, unnameSQL, p.name).Scan(&freed)
	}
	p.unpin(err == nil)
	switch {
	case err != nil && n.hasAnother(ctx, p):
		return fmt.Errorf("%w: %w: %w", lock.ErrNotHeld, &lock.HeldError{Key: key}, err)
	case err != nil:
		return fmt.Errorf("mysqlforms: release: %w", err)
	case freed.Int64 != 1:
		return lock.ErrNotHeld
	}
	return nil
}

// hasAnother reports whether the name of a connection that is gone went to another.
func (n *Named) hasAnother(ctx context.Context, p *pinned) bool {
	var other bool
	err := n.looks.QueryRowContext(ctx, "SELECT COALESCE(IS_USED_LOCK(?) <> ?, FALSE)", p.name, p.id).Scan(&other)
	return err == nil && other
}

// AdvanceFence lifts the Fencer's counter of key; without a Fencer it is
// errors.ErrUnsupported.
func (n *Named) AdvanceFence(ctx context.Context, key string, above uint64) error {
	return lock.AdvanceFenceBy(ctx, n.o.Fencer, key, above)
}

// seconds rounds up: the server counts whole ones, and at least one.
func seconds(d time.Duration) int64 { return int64((d + time.Second - 1) / time.Second) }
