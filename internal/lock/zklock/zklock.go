package zklock

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"example.com/seckill/internal/lock"
)

// Options are the settings of a Backend. The zero value is good.
type Options struct {
	// Root is the folder of all nodes. Programs with different roots do not exclude each other.
	// Default "/seckill".
	Root string
	// TLS verifies the servers. Default: no TLS.
	TLS *tls.Config
	// Username and Password are of the scheme digest. With them no other user may read or change
	// the nodes that the Backend makes. Default: every client may, and the network decides which
	// clients may connect.
	Username, Password string
	// Logger records cleanups that failed. Default slog.Default().
	Logger *slog.Logger
}

// Backend is a lock.Backend, a lock.FenceAdvancer and a lock.Notifier. Close it.
type Backend struct {
	servers []string
	o       Options
	acl     []zk.ACL // of all nodes

	ctx  context.Context // of the goroutines; ends with Close
	stop context.CancelFunc

	mu       sync.Mutex
	closed   bool
	sessions map[time.Duration]*session
	claims   map[acquisition]*entry
	tidy     sync.WaitGroup // goroutines of ours
}

var (
	_ lock.Backend       = (*Backend)(nil)
	_ lock.FenceAdvancer = (*Backend)(nil)
	_ lock.Notifier      = (*Backend)(nil)
)

// errClosed says that the Backend was closed.
var errClosed = errors.New("zklock: closed")

// Connect makes a Backend on the servers, host:port each. It does not wait for them: it makes
// sessions when it needs them.
func Connect(servers []string, o Options) (*Backend, error) {
	if len(servers) == 0 {
		return nil, errors.New("zklock: no servers")
	}
	o.Root = cmp.Or(o.Root, "/seckill")
	o.Logger = cmp.Or(o.Logger, slog.Default())
	b := &Backend{
		servers: zk.FormatServers(servers), o: o, acl: zk.WorldACL(zk.PermAll),
		sessions: map[time.Duration]*session{}, claims: map[acquisition]*entry{},
	}
	if o.Username != "" {
		b.acl = zk.DigestACL(zk.PermAll, o.Username, o.Password)
	}
	b.ctx, b.stop = context.WithCancel(context.Background())
	return b, nil
}

// Close ends the subscriptions and the sessions. A lease that is still held runs out by itself,
// with its session. Close may be repeated.
func (b *Backend) Close() error {
	b.mu.Lock()
	again := b.closed
	b.closed = true
	all := b.sessions
	held := map[*session]bool{}
	for _, e := range b.claims {
		e.timer.Stop()
		held[e.s] = true
	}
	b.mu.Unlock()
	if again {
		return nil
	}
	b.stop()
	var ending sync.WaitGroup
	for _, s := range all {
		ending.Go(func() { s.end(held[s]) })
	}
	ending.Wait()
	b.tidy.Wait() // last: a create that has no connection ends with its session
	return nil
}

// begin starts a goroutine that Close waits for, unless the Backend is closed.
func (b *Backend) begin(f func()) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.closed {
		b.tidy.Go(f)
	}
	return !b.closed
}

// Acquire takes key. After a network error it asks once more with the same token, because the
// answer may have been lost and the key may be ours already.
func (b *Backend) Acquire(ctx context.Context, key, token string, lease time.Duration) (lock.Grant, error) {
	s, err := b.session(lease)
	if err != nil {
		return lock.Grant{}, err
	}
	defer b.done(s)
	defer s.conns.Watch(ctx)()
	grant, err := b.acquire(ctx, s, key, token, lease)
	if isNetwork(err) && ctx.Err() == nil {
		grant, err = b.acquire(ctx, s, key, token, lease)
	}
	if err != nil && !errors.Is(err, lock.ErrHeld) {
		if e := b.entryOf(acquisition{key, token}); e != nil && ctx.Err() != nil {
			e.expire() // no caller waits for it any more
		}
		return lock.Grant{}, fmt.Errorf("zklock: acquire: %w", err)
	}
	return grant, err
}

// acquire reads first, so that a rejection writes nothing. It reads again after the create, because
// another caller may have created a node in the meantime. The lower number wins.
func (b *Backend) acquire(ctx context.Context, s *session, key, token string, lease time.Duration) (lock.Grant, error) {
	dir := b.held(key)
	if err := s.longEnough(ctx, lease); err != nil {
		return lock.Grant{}, err
	}
	now, err := s.list(ctx, dir)
	if err != nil {
		return lock.Grant{}, err
	}
	name, ours := now.of(token)
	if !ours && len(now) > 0 {
		return lock.Grant{}, &lock.HeldError{Key: key}
	}
	e, err := b.note(s, acquisition{key, token}, lease) // before the create: it may outlive its answer
	if err != nil {
		return lock.Grant{}, err
	}
	if !ours {
		if name, err = s.enter(ctx, dir, token, e); err != nil {
			return lock.Grant{}, err
		}
		if now, err = s.list(ctx, dir); err != nil {
			return lock.Grant{}, err
		}
	}
	if len(now) > 0 && now[0] != name {
		if err := s.remove(context.WithoutCancel(ctx), dir, token); err == nil {
			b.forget(e)
		}
		return lock.Grant{}, &lock.HeldError{Key: key}
	}
	return b.grant(ctx, e, dir+"/"+name)
}

// grant reads the fence of our own node. It reads the offset after the create, so that an AdvanceFence
// before the create counts.
func (b *Backend) grant(ctx context.Context, e *entry, path string) (lock.Grant, error) {
	var offset uint64
	var offsetErr error
	var reading sync.WaitGroup
	reading.Go(func() { offset, _, offsetErr = b.offset(ctx, e.s) })
	alive := e.s.lifetime() // before the read: if the session expires in between, the read finds no node of ours
	stat, id, err := e.s.owned(ctx, path)
	reading.Wait()
	switch {
	case err != nil || offsetErr != nil:
		return lock.Grant{}, errors.Join(err, offsetErr)
	case stat == nil:
		return lock.Grant{}, zk.ErrSessionExpired
	}
	gone := e.granted(alive, path, id)
	return lock.Grant{Fence: uint64(stat.Czxid) + offset, Gone: gone}, nil //nolint:gosec // transactions are positive
}

// Renew asks the leader whether the session lives and the node is there. A lease
// that ran out cannot be revived.
func (b *Backend) Renew(ctx context.Context, key, token string, lease time.Duration) error {
	s, err := b.session(lease)
	if err != nil {
		return err
	}
	defer b.done(s)
	defer s.conns.Watch(ctx)()
	e := b.entryOf(acquisition{key, token})
	if e == nil || e.s != s {
		return b.notHeld(ctx, s, key, token)
	}
	path, _ := e.grantedAs()
	if err := s.longEnough(ctx, lease); err != nil {
		return fmt.Errorf("zklock: renew: %w", err)
	}
	if err := s.sync(ctx, b.held(key)); err != nil {
		return fmt.Errorf("zklock: renew: %w", err)
	}
	stat, _, err := s.owned(ctx, path)
	switch {
	case err != nil:
		return fmt.Errorf("zklock: renew: %w", err)
	case stat == nil || !b.prolong(e, lease):
		return b.notHeld(ctx, s, key, token)
	default:
		return nil
	}
}

// notHeld distinguishes a key that ran out from one that another holds.
func (b *Backend) notHeld(ctx context.Context, s *session, key, token string) error {
	now, err := s.list(ctx, b.held(key))
	if err != nil {
		return fmt.Errorf("zklock: %w", err)
	}
	if _, ours := now.of(token); len(now) > 1 || len(now) == 1 && !ours {
		return fmt.Errorf("%w: %w", lock.ErrNotHeld, &lock.HeldError{Key: key})
	}
	return lock.ErrNotHeld
}

// Release deletes our own node, if there is one. After a network error it tries
// once more.
func (b *Backend) Release(ctx context.Context, key, token string) error {
	e := b.entryOf(acquisition{key, token})
	s, err := b.anySession(e)
	if err != nil {
		return err
	}
	defer b.done(s)
	defer s.conns.Watch(ctx)()
	err = b.release(ctx, s, e, acquisition{key, token}, false)
	if isNetwork(err) && ctx.Err() == nil {
		err = b.release(ctx, s, e, acquisition{key, token}, true)
	}
	if err != nil && !errors.Is(err, lock.ErrNotHeld) {
		return fmt.Errorf("zklock: release: %w", err)
	}
	return err
}

func (b *Backend) release(ctx context.Context, s *session, e *entry, c acquisition, again bool) error {
	path, id := "", int64(0)
	if e != nil {
		path, id = e.grantedAs()
	}
	if path == "" { // of a call without a reply, or of none
		now, err := s.list(ctx, b.held(c.key))
		if err != nil {
			return err
		}
		name, ours := now.of(c.token)
		if !ours {
			return b.notHeld(ctx, s, c.key, c.token)
		}
		path = b.held(c.key) + "/" + name
	}
	err := s.delete(ctx, path)
	switch {
	case err == nil:
		b.forget(e)
		return nil
	case !errors.Is(err, zk.ErrNoNode):
		return err
	case again && id != 0 && id == s.conn.SessionID(): // the session lives, so it was the first try that deleted it
		b.forget(e)
		return nil
	}
	if id != 0 { // certain to be gone
		b.forget(e)
	}
	return b.notHeld(ctx, s, c.key, c.token)
}
