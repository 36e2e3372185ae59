package mysqlforms

import (
	"context"
	"database/sql"
	"fmt"
	"sync"
	"time"

	"example.com/seckill/internal/lock"
)

// pinned is a connection that has a name, and so is not the pool's to lend.
type pinned struct {
	conn  *sql.Conn
	name  string
	id    int64 // of the connection, as the server calls it
	fence uint64
	lease time.Duration // that the server knows of

	gone context.Context // ends when the name is lost
	tell context.CancelFunc
	life context.Context // of a renewal under way; its end cuts the connection
	cut  context.CancelFunc
	end  *time.Timer // of the lease

	mu     sync.Mutex
	asking *asking // nil when no renewal is under way
	last   bool    // no other may begin
}

// asking is one question on the connection. Several may wait for its answer.
type asking struct {
	done chan struct{}
	err  error // read after done
}

func newPinned(conn *sql.Conn, name string, lease time.Duration) *pinned {
	p := &pinned{conn: conn, name: name, lease: lease}
	p.gone, p.tell = context.WithCancel(context.Background())
	p.life, p.cut = context.WithCancel(context.Background())
	return p
}

// unpin returns the connection back, or closes it when it is not certain that it holds
// nothing.
func (p *pinned) unpin(clean bool) {
	p.cut()
	if !clean {
		discard(p.conn)
	}
	_ = p.conn.Close() // it goes back, or is gone
}

// find returns a lease that this process holds, or nil.
func (n *Named) find(h holder) *pinned {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.held[h]
}

// keep starts the clock of a lease and the watch over all leases.
func (n *Named) keep(h holder, p *pinned, lease time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	p.end = time.AfterFunc(lease, func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		if n.held[h] == p {
			n.drop(h)
		}
	})
	n.held[h] = p
	if !n.watching {
		n.watching = true
		n.tasks.Go(n.watch)
	}
}

// prolong moves the end of the lease, unless it has come.
func (n *Named) prolong(h holder, p *pinned, lease time.Duration) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.held[h] != p {
		return false
	}
	p.end.Reset(lease)
	return true
}

// drop ends a lease that is over or lost. It tells the holder first. Then it closes the connection, and the server
// frees the name if it still has it. The mutex is held.
func (n *Named) drop(h holder) {
	p := n.held[h]
	delete(n.held, h)
	p.end.Stop()
	p.tell()
	n.tasks.Go(func() { p.unpin(false) })
}

// confirm asks on the connection, or waits for the answer to an earlier question. It
// gives up waiting when ctx ends; the question stays, because a connection cannot
// take one back without being closed.
func (n *Named) confirm(ctx context.Context, p *pinned, lease time.Duration) error {
	p.mu.Lock()
	a := p.asking
	if a == nil && p.last {
		p.mu.Unlock()
		return lock.ErrNotHeld
	}
	if a == nil {
		a = &asking{done: make(chan struct{})}
		p.asking = a
		n.tasks.Go(func() {
			a.err = p.ask(lease)
			p.mu.Lock()
			p.asking = nil
			p.mu.Unlock()
			close(a.done)
		})
	}
	p.mu.Unlock()
	select {
	case <-a.done:
		return a.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// quiet waits until no question is under way, and lets none begin. The connection answers one question at a time. A
// second one would wait behind the first, even after its context has ended.
func (p *pinned) quiet(ctx context.Context) error {
	p.mu.Lock()
	p.last = true
	a := p.asking
	p.mu.Unlock()
	if a == nil {
		return nil
	}
	select {
	case <-a.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (p *pinned) ask(lease time.Duration) error {
	var own sql.NullBool
	err := p.conn.QueryRowContext(p.life, ownSQL, p.name).Scan(&own)
	if err == nil && !own.Bool {
		return lock.ErrNotHeld
	}
	if err == nil && seconds(lease) != seconds(p.lease) {
		if _, err = p.conn.ExecContext(p.life, patienceSQ, seconds(lease)); err == nil {
			p.lease = lease
		}
	}
	if err != nil && !isServers(err) {
		return fmt.Errorf("%w: its connection is gone: %w", lock.ErrNotHeld, err)
	}
	return err //nolint:wrapcheck // Renew wraps it
}
