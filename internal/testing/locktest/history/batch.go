package history

import (
	"context"
	"errors"
	"slices"
	"time"

	"example.com/seckill/internal/lock"
)

// batchingProcess is one whose backend does for many keys at once what it does for one, and
// passes a key on.
type batchingProcess struct {
	wakingProcess

	many   lock.Batcher
	onward lock.Handoffer
}

func (p batchingProcess) Handoff(ctx context.Context, key, token, next string, lease time.Duration) (lock.Grant, error) {
	if err := p.passes(); err != nil {
		return lock.Grant{}, err
	}
	call := time.Now()
	grant, err := p.onward.Handoff(ctx, key, token, next, lease)
	p.released(key, token, call, err)
	if !errors.Is(err, lock.ErrNotHeld) && !errors.Is(err, errors.ErrUnsupported) {
		p.acquired(key, next, lease, call, grant, err)
	}
	if err := p.passes(); err != nil {
		return lock.Grant{}, err
	}
	return grant, err
}

func (p batchingProcess) AcquireMany(ctx context.Context, keys []string, token string, lease time.Duration) []lock.Result {
	call := time.Now()
	if err := p.passes(); err != nil {
		return slices.Repeat([]lock.Result{{Err: err}}, len(keys))
	}
	answers := p.many.AcquireMany(ctx, keys, token, lease)
	for i, a := range answers {
		p.acquired(keys[i], token, lease, call, a.Grant, a.Err)
	}
	if err := p.passes(); err != nil {
		return slices.Repeat([]lock.Result{{Err: err}}, len(keys))
	}
	return answers
}

func (p batchingProcess) RenewMany(ctx context.Context, keys []string, token string, lease time.Duration) []error {
	call := time.Now()
	if err := p.passes(); err != nil {
		return slices.Repeat([]error{err}, len(keys))
	}
	errs := p.many.RenewMany(ctx, keys, token, lease)
	for i, err := range errs {
		p.renewed(keys[i], token, call, err)
	}
	if err := p.passes(); err != nil {
		return slices.Repeat([]error{err}, len(keys))
	}
	return errs
}

func (p batchingProcess) ReleaseMany(ctx context.Context, keys []string, token string) []error {
	if err := p.passes(); err != nil {
		return slices.Repeat([]error{err}, len(keys))
	}
	call := time.Now()
	errs := p.many.ReleaseMany(ctx, keys, token)
	for i, err := range errs {
		p.released(keys[i], token, call, err)
	}
	return errs
}

// tryMany takes some keys at once and does something while it has those that it was given.
func (c *client) tryMany(ctx context.Context) (err error) {
	l, p := c.slot.present()
	keys := make([]string, 0, len(c.keys))
	for _, i := range c.dice.Perm(len(c.keys))[:1+c.dice.IntN(len(c.keys))] {
		keys = append(keys, c.keys[i])
	}
	call := time.Now()
	leases, errs := l.AcquireMany(ctx, keys)
	for i, key := range keys {
		if c.told(key, call, leases[i], errs[i]); errs[i] != nil {
			err = errs[i]
		}
	}
	held := slices.DeleteFunc(leases, func(h *lock.Lease) bool { return h == nil })
	c.hold(l, p, held, func() {
		call := time.Now()
		for i, err := range l.ReleaseMany(context.Background(), held) {
			c.freed(held[i], call, err)
		}
	})
	return err
}
