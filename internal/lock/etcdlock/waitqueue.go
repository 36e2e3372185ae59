package etcdlock

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

const (
	queueTTL   = 10 // seconds after which a dead waiter is out of the line
	pauseAfter = 50 * time.Millisecond
)

// errClosed says that the Backend was closed.
var errClosed = errors.New("etcdlock: closed")

// Subscribe puts an entry into the line of key and returns a channel. The channel gets a message
// when the entry is first in the line and the key is free. A waiter that dies leaves the line after
// ten seconds at most. Until then the waiters behind it poll.
func (b *Backend) Subscribe(ctx context.Context, key, _ string) (<-chan struct{}, func(), error) {
	id := rand.Text()
	p := queueEntry{b: b, key: key, name: b.queueDir(key) + id, lease: leaseID(key, id), freed: make(chan struct{}, 1)}
	listening, cancel := context.WithCancel(b.ctx)
	entered := make(chan error, 1)
	if !b.begin(func() {
		defer p.leave()
		// The caller's context bounds only the entry into the line.
		ctx, stop := context.WithCancel(ctx)
		defer context.AfterFunc(listening, stop)()
		defer stop()
		err := p.enter(ctx)
		entered <- err
		if err == nil {
			p.listen(listening)
		}
	}) {
		cancel()
		return nil, nil, errClosed
	}
	if err := <-entered; err != nil {
		cancel()
		return nil, nil, fmt.Errorf("etcdlock: subscribe: %w", err)
	}
	return p.freed, cancel, nil
}

// begin starts a goroutine that Close waits for, unless the Backend is closed.
func (b *Backend) begin(f func()) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.closed {
		b.listeners.Go(f)
	}
	return !b.closed
}

// queueDir returns the folder of a key's waiters. It escapes the key, because a slash would put the
// folder into the folder of another key.
func (b *Backend) queueDir(key string) string {
	return b.o.Prefix + "line/" + url.PathEscape(key) + "/"
}

// queueEntry is one entry in a line.
type queueEntry struct {
	b         *Backend
	key, name string
	lease     clientv3.LeaseID
	revision  int64 // of its creation: its rank
	freed     chan struct{}
}

func (p *queueEntry) enter(ctx context.Context) error {
	defer p.b.conns.Watch(ctx)()
	if err := p.b.grantLease(ctx, p.lease, queueTTL); err != nil {
		return err
	}
	put, err := p.b.kv.Put(ctx, p.name, "", clientv3.WithLease(p.lease))
	if err != nil {
		return fmt.Errorf("enter the line: %w", err)
	}
	p.revision = put.Header.Revision
	return nil
}

// leave ends the lease, and so wakes the next waiter.
func (p *queueEntry) leave() {
	p.b.revokeAlone(context.Background(), p.lease)
}

// listen watches the predecessor until ctx ends. If a watch breaks, for instance by a compaction,
// listen reads the line again.
func (p *queueEntry) listen(ctx context.Context) {
	alive, err := p.b.client.KeepAlive(ctx, p.lease)
	if err != nil {
		return // the waiter polls
	}
	p.b.listeners.Go(func() {
		for range alive { // the answers only have to be taken
		}
	})
	for ctx.Err() == nil {
		if err := p.step(ctx); err != nil && ctx.Err() == nil {
			p.b.o.Logger.Debug("etcdlock: cannot watch, trying again", "key", p.key, "err", err)
			select {
			case <-ctx.Done():
			case <-time.After(pauseAfter):
			}
		}
	}
}

// step waits until the entry before this one is gone. At the head of the line it waits for the
// holder, and signals if there is none.
func (p *queueEntry) step(ctx context.Context) error {
	before, err := p.b.kv.Get(ctx, p.b.queueDir(p.key), append(clientv3.WithLastCreate(), clientv3.WithKeysOnly(),
		clientv3.WithMaxCreateRev(p.revision-1))...)
	if err != nil {
		return fmt.Errorf("read the line: %w", err)
	}
	if len(before.Kvs) > 0 {
		return p.gone(ctx, string(before.Kvs[0].Key), before.Header.Revision)
	}
	holder, err := p.b.kv.Get(ctx, p.b.held(p.key), clientv3.WithKeysOnly())
	if err != nil {
		return fmt.Errorf("read the holder: %w", err)
	}
	if len(holder.Kvs) == 0 {
		select {
		case p.freed <- struct{}{}:
		default: // it knows already
		}
	}
	return p.gone(ctx, p.b.held(p.key), holder.Header.Revision)
}

// gone returns when key was deleted after the given revision.
func (p *queueEntry) gone(ctx context.Context, key string, after int64) error {
	ctx, cancel := context.WithCancel(clientv3.WithRequireLeader(ctx))
	defer cancel()
	for news := range p.b.client.Watch(ctx, key, clientv3.WithRev(after+1), clientv3.WithFilterPut()) {
		if err := news.Err(); err != nil {
			return fmt.Errorf("watch: %w", err)
		}
		if len(news.Events) > 0 {
			return nil
		}
	}
	return errors.New("the watch ended")
}
