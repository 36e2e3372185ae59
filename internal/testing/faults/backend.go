package faults

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"example.com/seckill/internal/lock"
)

// Backend puts points around the calls that acquire and release a user's lock. The result implements the optional
// interfaces that b implements. It panics if those are none of the combinations that the backends of the program have:
// without one of the interfaces, a run would test less than the program does, and nothing would say so.
func (p *Points) Backend(b lock.Backend) lock.Backend {
	f := backend{b, p}
	advancer, advances := b.(lock.FenceAdvancer)
	notifier, notifies := b.(lock.Notifier)
	fairBackend, isFair := b.(lock.FairBackend)
	batcher, batches := b.(lock.Batcher)
	handoffer, handsOff := b.(lock.Handoffer)
	switch [...]bool{advances, notifies, isFair, batches, handsOff} {
	case [...]bool{true, true, true, true, true}:
		return struct {
			backend
			lock.FenceAdvancer
			lock.Notifier
			inTurn
			many
			handoff
		}{f, advancer, notifier, inTurn{fairBackend, p}, many{batcher, p}, handoff{handoffer, p}}
	case [...]bool{true, true, false, false, false}:
		return struct {
			backend
			lock.FenceAdvancer
			lock.Notifier
		}{f, advancer, notifier}
	case [...]bool{true, false, false, false, false}:
		return struct {
			backend
			lock.FenceAdvancer
		}{f, advancer}
	}
	panic(fmt.Sprintf("faults: %T implements other optional interfaces than every known backend: add its combination", b))
}

type backend struct {
	lock.Backend
	p *Points
}

// atUser does the step if the key is a user's. A backend whose reply is lost may return any error.
func (p *Points) atUser(ctx context.Context, key, step string, do func() error) error {
	if !strings.Contains(key, lock.UserKeyPrefix) {
		return do()
	}
	return p.at(ctx, step, nil, do)
}

// Acquire implements lock.Backend.
func (b backend) Acquire(ctx context.Context, key, token string, lease time.Duration) (g lock.Grant, err error) {
	err = b.p.atUser(ctx, key, "acquire", func() (err error) {
		g, err = b.Backend.Acquire(ctx, key, token, lease)
		return err
	})
	return b.p.grant(key, token, g, err)
}

// Release implements lock.Backend.
func (b backend) Release(ctx context.Context, key, token string) error {
	b.p.witness.releases(key, token)
	return b.p.atUser(ctx, key, "unlock", func() error { return b.Backend.Release(ctx, key, token) })
}

type inTurn struct {
	lock.FairBackend
	p *Points
}

// AcquireInTurn implements lock.FairBackend.
func (q inTurn) AcquireInTurn(ctx context.Context, key, token string, lease time.Duration) (g lock.Grant, err error) {
	err = q.p.atUser(ctx, key, "acquire", func() (err error) {
		g, err = q.FairBackend.AcquireInTurn(ctx, key, token, lease)
		return err
	})
	return q.p.grant(key, token, g, err)
}

type handoff struct {
	lock.Handoffer
	p *Points
}

// Handoff implements lock.Handoffer. It is the step at which its holder unlocks.
func (o handoff) Handoff(ctx context.Context, key, token, next string, lease time.Duration) (g lock.Grant, err error) {
	o.p.witness.releases(key, token)
	err = o.p.atUser(ctx, key, "unlock", func() (err error) {
		g, err = o.Handoffer.Handoff(ctx, key, token, next, lease)
		return err
	})
	return o.p.grant(key, next, g, err)
}

type many struct {
	lock.Batcher

	p *Points
}

// atUsers is atUser for keys of one kind.
func (p *Points) atUsers(ctx context.Context, keys []string, step string, do func()) error {
	if !strings.Contains(keys[0], lock.UserKeyPrefix) {
		do()
		return nil
	}
	return p.atMany(ctx, len(keys), step, nil, do)
}

// AcquireMany implements lock.Batcher. A lost answer is lost for all keys.
func (m many) AcquireMany(ctx context.Context, keys []string, token string, lease time.Duration) (answers []lock.Result) {
	lost := m.p.atUsers(ctx, keys, "acquire", func() {
		answers = m.Batcher.AcquireMany(ctx, keys, token, lease)
	})
	if lost != nil {
		answers = make([]lock.Result, len(keys))
	}
	for i, key := range keys {
		a := &answers[i]
		if lost != nil {
			a.Err = lost
		}
		a.Grant, a.Err = m.p.grant(key, token, a.Grant, a.Err)
	}
	return answers
}

// ReleaseMany implements lock.Batcher, as AcquireMany does.
func (m many) ReleaseMany(ctx context.Context, keys []string, token string) (errs []error) {
	for _, key := range keys {
		m.p.witness.releases(key, token)
	}
	lost := m.p.atUsers(ctx, keys, "unlock", func() {
		errs = m.Batcher.ReleaseMany(ctx, keys, token)
	})
	if lost != nil {
		return slices.Repeat([]error{lost}, len(keys))
	}
	return errs
}
