package history

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"example.com/seckill/internal/lock"
)

// client does one thing after another, as its dice say. The pauses between them
// are part of the plan: nothing is waited for.
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
			rest = 100 * time.Millisecond // every call without an answer may have been carried out
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

// told records what an acquire came to.
func (c *client) told(key string, call time.Time, h *lock.Lease, err error) {
	var held *lock.HeldError
	switch {
	case err == nil:
		c.b.change(tenureID{key, int64(h.Fence())}, func(t *tenure) { t.claimed = true })
		c.b.note(c.id, event{acquired, key, int64(h.Fence())}, call, time.Now())
	case errors.As(err, &held) && held.Remaining > 0 && !c.o.InTurn:
		// The server's word; the queue of the process does not say what remains.
		c.b.note(c.id, event{kind: refused, key: key}, call, time.Now())
	}
}

// hold does something while keys are held, and ends that in one of the ways
// that processes have.
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
	case 0: // stopped for longer than the lease: it writes before it looks at the clock
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
	if c.o.Flush != nil || c.o.Session { // such a loss is told later, and not before
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

// freed records what a release came to.
func (c *client) freed(h *lock.Lease, call time.Time, err error) {
	fence := int64(h.Fence())
	switch {
	case err == nil && (c.o.Flush != nil || c.o.Session) && c.b.seen(tenureID{h.Key(), fence}).doubtful:
		// An earlier answer was lost, and "not held" is then taken for its success: on a
		// server that lost its data or the connection in between, it cannot be told.
	case err == nil:
		c.b.change(tenureID{h.Key(), fence}, func(t *tenure) { t.settled = true })
		c.b.note(c.id, event{released, h.Key(), fence}, call, time.Now())
	case errors.Is(err, lock.ErrNotHeld) && c.b.seen(tenureID{h.Key(), fence}).refused: // and not only lost by the holder's clock
		c.b.note(c.id, event{notHeld, h.Key(), fence}, call, time.Now())
	}
}

// tryUnknown does work that does not know what came of it: no other client may enter
// before the lease has run out.
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
