package history

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"example.com/seckill/internal/lock"
)

// client performs random operations, one after another. The pauses between operations are part of the plan: a
// client does not wait for an event.
type client struct {
	*run
	id   int
	slot *slot
	dice *rand.Rand
}

func (c *client) upTo(d time.Duration) time.Duration { return time.Duration(c.dice.Int64N(int64(d))) }

func (c *client) live(ctx context.Context) {
	for ctx.Err() == nil {
		key := c.keys[c.dice.IntN(len(c.keys))]
		wait := []time.Duration{0, 0, 50 * time.Millisecond, 400 * time.Millisecond}[c.dice.IntN(4)]
		acquire, cancel := ctx, context.CancelFunc(func() {})
		if c.dice.IntN(8) == 0 {
			acquire, cancel = context.WithTimeout(ctx, c.upTo(30*time.Millisecond))
		}
		rest := 8 * time.Millisecond
		if err := c.try(acquire, key, wait); errors.Is(err, lock.ErrUnavailable) {
			rest = 100 * time.Millisecond // the server may have executed a call without an answer
		}
		cancel()
		time.Sleep(c.upTo(rest))
	}
}

func (c *client) try(ctx context.Context, key string, wait time.Duration) error {
	switch c.dice.IntN(20) {
	case 0:
		return c.tryUnknown(ctx, key, wait)
	case 1, 2, 3, 4:
		return c.tryMany(ctx)
	}
	return c.tryOnce(ctx, key, wait)
}

func (c *client) tryOnce(ctx context.Context, key string, wait time.Duration) error {
	l, p := c.slot.present()
	call := time.Now()
	h, err := l.Acquire(ctx, key, lock.WithWait(wait))
	c.told(key, call, h, err)
	if err != nil {
		return err
	}
	c.hold(l, p, []*lock.Lease{h}, func() {
		call := time.Now()
		c.freed(h, call, h.Release(context.Background()))
	})
	return nil
}

// told records the result of an acquire.
func (c *client) told(key string, call time.Time, h *lock.Lease, err error) {
	var held *lock.HeldError
	switch {
	case err == nil:
		c.b.change(tenureID{key, int64(h.Fence())}, func(t *tenure) { t.claimed = true })
		c.b.note(c.id, event{acquired, key, int64(h.Fence())}, call, time.Now())
	case errors.As(err, &held) && held.Remaining > 0 && !c.o.InTurn:
		// The server gave the remaining time; the queue of the process does not give it.
		c.b.note(c.id, event{kind: refused, key: key}, call, time.Now())
	}
}

// hold performs operations while the client holds the keys. It then ends the hold as a real process may: by a
// release, in time or late, or by its death.
func (c *client) hold(l *lock.Locker, p *process, held []*lock.Lease, release func()) {
	reenter := func() {
		for _, h := range held {
			c.reenter(l, h)
		}
	}
	write := func() {
		for _, h := range held {
			c.write(h)
		}
	}
	for range c.dice.IntN(4) {
		time.Sleep(c.upTo(4 * time.Millisecond))
		reenter()
		write()
	}
	switch c.dice.IntN(20) {
	case 0: // stopped for longer than the lease: it writes before it checks the clock
		p.stop(c.o.Lease + c.upTo(c.o.Lease/2))
		write()
		reenter()
	case 1: // long work, under renewals
		time.Sleep(c.o.Lease/2 + c.upTo(c.o.Lease))
		reenter()
		write()
	case 2:
		c.slot.kill(p)
		return
	}
	release()
}

func (c *client) reenter(l *lock.Locker, h *lock.Lease) {
	if c.o.Flush != nil || c.o.Session { // a client learns of such a loss only afterwards
		return
	}
	call := time.Now()
	again, err := l.Acquire(h.Context(), h.Key())
	if err == nil {
		c.b.note(c.id, event{reentered, h.Key(), int64(again.Fence())}, call, time.Now())
		_ = again.Release(context.Background())
	}
}

func (c *client) write(h *lock.Lease) {
	call, result := time.Now(), turnedAway
	if c.register.write(h.Key(), int64(h.Fence())) {
		result = wrote
	}
	c.b.note(c.id, event{result, h.Key(), int64(h.Fence())}, call, time.Now())
}

// freed records the result of a release.
func (c *client) freed(h *lock.Lease, call time.Time, err error) {
	fence := int64(h.Fence())
	switch {
	case err == nil && (c.o.Flush != nil || c.o.Session) && c.b.seen(tenureID{h.Key(), fence}).doubtful:
		// An earlier answer was lost, and the Locker then takes "not held" for the success of that call. On a
		// server that lost its data or the connection in between, the true result is unknown.
	case err == nil:
		c.b.change(tenureID{h.Key(), fence}, func(t *tenure) { t.settled = true })
		c.b.note(c.id, event{released, h.Key(), fence}, call, time.Now())
	case errors.Is(err, lock.ErrNotHeld) && c.b.seen(tenureID{h.Key(), fence}).refused: // and the lease was not only lost by the holder's clock
		c.b.note(c.id, event{notHeld, h.Key(), fence}, call, time.Now())
	}
}

// tryUnknown does work with an unknown outcome. No other client may enter before the lease has run out.
func (c *client) tryUnknown(ctx context.Context, key string, wait time.Duration) error {
	l, _ := c.slot.present()
	call, worked := time.Now(), false
	err := l.Do(ctx, key, func(_ context.Context, h *lock.Lease) error {
		worked = true
		c.told(key, call, h, nil)
		c.write(h)
		return fmt.Errorf("commit: %w", lock.ErrOutcomeUnknown)
	}, lock.WithWait(wait))
	if !worked {
		c.told(key, call, nil, err)
	}
	return err
}
