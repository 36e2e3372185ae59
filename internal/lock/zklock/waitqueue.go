package zklock

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/go-zookeeper/zk"
)

const pauseAfter = 50 * time.Millisecond

// Subscribe puts a node into the line of key and returns a channel. The channel gets a message when
// the node is first in the line and the key is free. A waiter that dies leaves the line with its
// session. Until then the waiters behind it poll.
func (b *Backend) Subscribe(ctx context.Context, key, _ string) (<-chan struct{}, func(), error) {
	s, err := b.anySession(nil)
	if err != nil {
		return nil, nil, err
	}
	defer s.conns.Watch(ctx)()
	// The place needs the session until it is left. After Close there is no use for the session.
	p := place{b: b, s: s, key: key, token: rand.Text(), freed: make(chan struct{}, 1)}
	if _, err := s.enter(ctx, b.line(key), p.token, nil); err != nil {
		b.begin(p.leave) // a network error says nothing
		return nil, nil, fmt.Errorf("zklock: subscribe: %w", err)
	}
	listening, cancel := context.WithCancel(b.ctx)
	if !b.begin(func() {
		defer p.leave()
		p.listen(listening)
	}) {
		cancel()
		return nil, nil, errClosed
	}
	return p.freed, cancel, nil
}

// place is one entry in a line.
type place struct {
	b     *Backend
	s     *session
	key   string
	token string
	freed chan struct{}
}

// leave deletes the node, and so wakes the next waiter.
func (p *place) leave() {
	defer p.b.done(p.s)
	_ = p.s.removeAtLast(p.b.ctx, p.b.line(p.key), p.token) // or it ends with the session
}

// listen watches until ctx ends. If a session has expired, listen goes to the end of the line.
func (p *place) listen(ctx context.Context) {
	for ctx.Err() == nil {
		if err := p.step(ctx); err != nil && ctx.Err() == nil {
			p.b.o.Logger.Debug("zklock: cannot watch, trying again", "key", p.key, "err", err)
			select {
			case <-ctx.Done():
			case <-time.After(pauseAfter):
			}
		}
	}
}

// step waits until the node before this one is gone. At the head of the line it waits for a change
// of the holder, and signals if there is none.
func (p *place) step(ctx context.Context) error {
	line, err := p.s.list(ctx, p.b.line(p.key))
	if err != nil {
		return err
	}
	mine, there := line.of(p.token) // also one whose create lost its reply
	if !there {
		_, err = p.s.enter(ctx, p.b.line(p.key), p.token, nil)
		return err
	}
	if before, _ := line.before(mine); before != "" {
		return p.await(ctx, func(c *zk.Conn) (<-chan zk.Event, error) {
			_, _, gone, err := c.GetW(p.b.line(p.key) + "/" + before)
			return gone, err //nolint:wrapcheck // await wraps it
		})
	}
	return p.await(ctx, func(c *zk.Conn) (<-chan zk.Event, error) {
		holders, _, changed, err := c.ChildrenW(p.b.held(p.key))
		if err == nil && len(newNames(holders)) == 0 {
			p.tell()
		}
		return changed, err //nolint:wrapcheck // await wraps it
	})
}

func (p *place) tell() {
	select {
	case p.freed <- struct{}{}:
	default: // it knows already
	}
}

// await sets a watch and waits for it. A node that is not there is not waited for. Then await makes
// the folder of the holders again, so that it can be watched.
func (p *place) await(ctx context.Context, watch func(c *zk.Conn) (<-chan zk.Event, error)) error {
	p.s.conns.watches.Store(true)
	event, err := call(ctx, p.s, watch)
	if errors.Is(err, zk.ErrNoNode) {
		return p.s.makeFolder(ctx, p.b.held(p.key))
	}
	if err != nil {
		return fmt.Errorf("watch: %w", err)
	}
	select {
	case e := <-event:
		return e.Err
	case <-ctx.Done():
		return ctx.Err()
	}
}
