package etcdlock

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"example.com/seckill/internal/lock"
	"example.com/seckill/internal/lock/deadpeer"
)

// Options are the settings of a Backend. The zero value is good.
type Options struct {
	// Prefix is put before every key. Programs with different prefixes do not
	// exclude each other. Default "seckill/lock/".
	Prefix string
	// TLS verifies the servers of all endpoints. Default: the system's settings, for endpoints that
	// begin with https://.
	TLS *tls.Config
	// Username and Password belong to a user that may read and write below Prefix. Default: none.
	Username, Password string
	// Logger records cleanups that failed. Default slog.Default().
	Logger *slog.Logger
}

// Backend is a lock.Backend, a lock.FenceAdvancer and a lock.Notifier. Close it.
type Backend struct {
	client *clientv3.Client
	kv     clientv3.KV
	leases pb.LeaseClient
	conns  *deadpeer.Detector
	o      Options

	ctx       context.Context // of the listeners; ends with Close
	stop      context.CancelFunc
	mu        sync.Mutex // guards the start of a listener against Close
	closed    bool
	listeners sync.WaitGroup
}

var (
	_ lock.Backend       = (*Backend)(nil)
	_ lock.FenceAdvancer = (*Backend)(nil)
	_ lock.Notifier      = (*Backend)(nil)
)

// Connect makes a Backend on the servers at endpoints, host:port or a URL each. It does not wait
// for them: while it can reach none, calls fail at once.
func Connect(endpoints []string, o Options) (*Backend, error) {
	o.Prefix = cmp.Or(o.Prefix, "seckill/lock/")
	o.Logger = cmp.Or(o.Logger, slog.Default())
	conns := deadpeer.New()
	client, err := clientv3.New(config(conns, endpoints, o))
	if err != nil {
		return nil, fmt.Errorf("etcdlock: %w", err)
	}
	conn := client.ActiveConnection()
	b := &Backend{
		client: client,
		// Both avoid the client's own options. With these options every call waits for a server to
		// come back, and tries again unasked.
		kv:     clientv3.NewKVFromKVClient(pb.NewKVClient(conn), nil),
		leases: pb.NewLeaseClient(conn),
		conns:  conns,
		o:      o,
	}
	b.ctx, b.stop = context.WithCancel(context.Background())
	return b, nil
}

// Close ends the subscriptions and the connections. Leases that are held run out by themselves.
// Close may be repeated.
func (b *Backend) Close() error {
	b.mu.Lock()
	again := b.closed
	b.closed = true
	b.mu.Unlock()
	if again {
		return nil
	}
	b.stop()
	b.listeners.Wait()
	if err := b.client.Close(); err != nil {
		return fmt.Errorf("etcdlock: close: %w", err)
	}
	return nil
}

// Acquire takes key. After a network error it asks once more with the same token, because the
// answer may have been lost and the key may be ours already.
func (b *Backend) Acquire(ctx context.Context, key, token string, lease time.Duration) (lock.Grant, error) {
	defer b.conns.Watch(ctx)()
	grant, err := b.acquire(ctx, key, token, lease)
	if isNetwork(err) && ctx.Err() == nil {
		grant, err = b.acquire(ctx, key, token, lease)
	}
	if err != nil && !errors.Is(err, lock.ErrHeld) {
		return lock.Grant{}, fmt.Errorf("etcdlock: acquire: %w", err)
	}
	return grant, err
}

// acquire reads first, so that a rejection writes nothing. It makes the lease before the key, and
// writes the key only if there is none.
func (b *Backend) acquire(ctx context.Context, key, token string, lease time.Duration) (lock.Grant, error) {
	name, id := b.held(key), leaseID(key, token)
	seen, err := b.kv.Get(ctx, name)
	if err != nil {
		return lock.Grant{}, err //nolint:wrapcheck // Acquire wraps it
	}
	if len(seen.Kvs) > 0 && string(seen.Kvs[0].Value) != token {
		return lock.Grant{}, &lock.HeldError{Key: key}
	}
	if err := b.grantLease(ctx, id, seconds(lease)); err != nil {
		return lock.Grant{}, err
	}
	t, err := b.kv.Txn(ctx).
		If(clientv3.Compare(clientv3.CreateRevision(name), "=", 0)).
		Then(clientv3.OpPut(name, token, clientv3.WithLease(id)), clientv3.OpGet(b.raised())).
		Else(clientv3.OpGet(name), clientv3.OpGet(b.raised())).
		Commit()
	if err != nil {
		return lock.Grant{}, err //nolint:wrapcheck // Acquire wraps it
	}
	revision := t.Header.Revision
	if !t.Succeeded {
		now := t.Responses[0].GetResponseRange().Kvs
		if len(now) == 0 || string(now[0].Value) != token {
			b.revokeAlone(ctx, id)
			return lock.Grant{}, &lock.HeldError{Key: key}
		}
		revision = now[0].CreateRevision // a repeat, after its reply was lost: the same grant
	}
	offset, err := offsetIn(t.Responses[1].GetResponseRange().Kvs)
	if err != nil {
		return lock.Grant{}, err
	}
	return lock.Grant{Fence: uint64(revision) + offset}, nil //nolint:gosec // revisions are positive
}

// Renew keeps the etcd lease alive and checks that the key is still ours. An etcd lease that ran
// out cannot be revived.
func (b *Backend) Renew(ctx context.Context, key, token string, lease time.Duration) error {
	defer b.conns.Watch(ctx)()
	alive, err := b.keepAlive(ctx, leaseID(key, token), seconds(lease))
	if err != nil && !wantsLogin(err) {
		return fmt.Errorf("etcdlock: renew: %w", err)
	}
	again := err != nil
	now, err := b.kv.Get(ctx, b.held(key))
	if err == nil && again { // the call has logged in
		alive, err = b.keepAlive(ctx, leaseID(key, token), seconds(lease))
	}
	switch {
	case err != nil:
		return fmt.Errorf("etcdlock: renew: %w", err)
	case len(now.Kvs) > 0 && string(now.Kvs[0].Value) != token:
		return fmt.Errorf("%w: %w", lock.ErrNotHeld, &lock.HeldError{Key: key})
	case len(now.Kvs) == 0 || !alive:
		return lock.ErrNotHeld
	default:
		return nil
	}
}

// Release deletes key if it is still ours. It revokes the lease in any case, so that a write of
// ours that is still on its way can do nothing any more. It does not repeat a call without an
// answer, because only the Locker can interpret "not held" then.
func (b *Backend) Release(ctx context.Context, key, token string) error {
	defer b.conns.Watch(ctx)()
	name := b.held(key)
	t, err := b.kv.Txn(ctx).
		If(clientv3.Compare(clientv3.Value(name), "=", token)).
		Then(clientv3.OpDelete(name)).
		Else(clientv3.OpGet(name)).
		Commit()
	if err != nil {
		return fmt.Errorf("etcdlock: release: %w", err)
	}
	b.revoke(ctx, leaseID(key, token))
	switch {
	case t.Succeeded:
		return nil
	case len(t.Responses[0].GetResponseRange().Kvs) > 0:
		return fmt.Errorf("%w: %w", lock.ErrNotHeld, &lock.HeldError{Key: key})
	default:
		return lock.ErrNotHeld
	}
}

func (b *Backend) held(key string) string { return b.o.Prefix + "held/" + key }
func (b *Backend) raised() string         { return b.o.Prefix + "raised" }

// seconds rounds up: a lease is never shorter than the caller requested.
func seconds(d time.Duration) int64 { return int64((d + time.Second - 1) / time.Second) }

func parseOffset(text []byte) (uint64, error) {
	n, err := strconv.ParseUint(string(text), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("what is added to the fence: %w", err)
	}
	return n, nil
}
