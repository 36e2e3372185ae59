package lock

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"strings"
	"sync"
)

// AcquireMany takes each of keys that is free, at once and without waiting. It returns a lease for
// each key that it got, and an error as of Acquire for each other key, both in the order of keys.
// Wait does not apply.
//
// If another holder has a key, in this process or elsewhere, the error is ErrNotAcquired. The
// caller may wait for that key individually with Do. If a key is named twice, the second one is
// also ErrNotAcquired.
//
//	keys ─▶ local queue, no waiting ─▶ one script for many ─▶ leases with fences of their own
//	             └ ErrNotAcquired             └ ErrNotAcquired; ErrUnavailable: unknown, freed after it
//
// Each lease is as good as a lease of Acquire, with its own fence, context and loss. The Locker
// renews the leases of one call together. You may release them together (ReleaseMany) or one by
// one.
//
// If a call to the server has no answer, each key of that call is ErrUnavailable. The Locker frees
// the keys that the call may have taken. With a Backend that is not a Batcher, AcquireMany acquires
// each key individually, some at a time.
func (l *Locker) AcquireMany(ctx context.Context, keys []string, opts ...Option) ([]*Lease, []error) {
	return l.acquireMany(ctx, context.WithoutCancel(withoutLeases(ctx)), keys, opts)
}

// DoMany runs work once, while it holds those of keys that AcquireMany got. It returns one error
// per key: the error of the acquisition or, if the key was acquired, the error that work returned
// at its index. leases is nil at the index of a key that was not acquired. If no key was acquired,
// DoMany does not run work.
//
// After work has returned, also by a panic, DoMany releases the leases. It lets a lease run out if
// its error is an ErrOutcomeUnknown. work may release some leases itself before.
//
// The context of work ends when the last of the leases is lost. Each lease's own context ends with
// that lease only. The fence of each lease guards the writes for its own key, so the loss of one
// lease does not fail the others.
func (l *Locker) DoMany(ctx context.Context, keys []string,
	work func(ctx context.Context, leases []*Lease) []error, opts ...Option,
) []error {
	leases, errs := l.acquireMany(ctx, ctx, keys, opts)
	held, end := together(ctx, leases)
	if held == nil {
		return errs
	}
	defer l.finishMany(ctx, leases, end)
	results := work(held, leases)
	for i, lease := range leases {
		if lease == nil || i >= len(results) {
			continue
		}
		errs[i] = results[i]
		if errors.Is(errs[i], ErrOutcomeUnknown) {
			lease.h.keep.Store(true)
		}
	}
	return errs
}

// ReleaseMany releases leases, and returns for each the result of Release. The leases of one
// acquisition take one round trip.
func (l *Locker) ReleaseMany(ctx context.Context, leases []*Lease) []error {
	errs := make([]error, len(leases))
	batcher, ok := l.backend.(Batcher)
	var members []member
	for i, lease := range leases {
		if ok && lease != nil && !lease.nested && lease.h.l == l {
			members = append(members, member{lease.h, &errs[i]})
		}
	}
	alone := func(i int) {
		if lease := leases[i]; !ok || lease == nil || lease.nested || lease.h.l != l {
			errs[i] = lease.Release(ctx)
		}
	}
	if !ok {
		someAtATime(len(leases), alone)
		return errs
	}
	for i := range leases {
		alone(i)
	}
	l.releaseMembers(ctx, batcher, members)
	return errs
}

// atATime bounds the calls in progress at once. With a Backend that takes keys one by one, it is
// the number of keys that are acquired or released at once.
const atATime = 16

func someAtATime(n int, do func(i int)) {
	next := make(chan int)
	var all sync.WaitGroup
	for range min(n, atATime) {
		all.Go(func() {
			for i := range next {
				do(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	all.Wait()
}

func (l *Locker) acquireMany(ctx, parent context.Context, keys []string, opts []Option) (leases []*Lease, errs []error) {
	leases, errs = make([]*Lease, len(keys)), make([]error, len(keys))
	batcher, ok := l.backend.(Batcher)
	if !ok {
		opts = append(slices.Clip(opts), WithWait(0))
		someAtATime(len(keys), func(i int) { leases[i], errs[i] = l.acquire(ctx, parent, keys[i], opts) })
		return leases, errs
	}
	refuse := func(err func(key string) error) {
		for i, key := range keys {
			errs[i] = err(key)
		}
	}
	r := request{lease: l.o.Lease, parent: parent}
	for _, opt := range opts {
		opt(&r)
	}
	if err := r.check(); err != nil {
		refuse(func(string) error { return err })
		return leases, errs
	}
	if !l.begin() {
		refuse(func(string) error { return ErrClosed })
		return leases, errs
	}
	defer l.calls.Done()
	if ctx.Err() != nil {
		refuse(func(key string) error { return gaveUp(ctx, key) })
		return leases, errs
	}
	b := batch{l: l, ctx: ctx, request: r, token: rand.Text()}
	b.acquireFree(batcher, keys, leases, errs)
	return leases, errs
}

// acquireFree acquires the keys that are free in this process, and sets the lease or the error of
// each key.
func (b *batch) acquireFree(batcher Batcher, keys []string, leases []*Lease, errs []error) {
	var asked []int // their indexes
	for i, key := range keys {
		if errs[i] = CheckKey(key); errs[i] != nil {
			continue
		}
		if h := heldIn(b.ctx, b.l, key); h != nil {
			leases[i], errs[i] = h.reenter()
			continue
		}
		if !b.l.queue.tryEnter(key) {
			errs[i] = &HeldError{Key: key}
			continue
		}
		b.keys, asked = append(b.keys, key), append(asked, i)
	}
	if len(asked) == 0 {
		return
	}
	for n, m := range b.acquire(batcher) {
		i := asked[n]
		if errs[i] = m.err; m.err == nil {
			leases[i] = &Lease{h: m.h}
		}
	}
}

// member is one lease that is released with others, and the place for its error.
type member struct {
	h   *heldLease
	err *error
}

// releaseMembers releases the leases that are held, each once. The leases of one acquisition take
// one call.
func (l *Locker) releaseMembers(ctx context.Context, backend Batcher, members []member) {
	// Lock in one order, so that two calls with the same leases do not wait for each other.
	slices.SortFunc(members, func(a, b member) int {
		return cmp.Or(strings.Compare(a.h.token, b.h.token), strings.Compare(a.h.key, b.h.key))
	})
	var groups [][]member
	for i, m := range members {
		if i > 0 && members[i-1].h == m.h { // the same twice
			*m.err = ErrNotHeld
			continue
		}
		m.h.mu.Lock()
		defer m.h.mu.Unlock()
		if !m.h.beginRelease() {
			*m.err = ErrNotHeld
			continue
		}
		defer m.h.leave()
		last := len(groups) - 1
		if last < 0 || groups[last][0].h.token != m.h.token {
			groups = append(groups, nil)
			last++
		}
		groups[last] = append(groups[last], m)
	}
	someAtATime(len(groups), func(i int) { l.releaseGroup(ctx, backend, groups[i]) })
}

// releaseGroup frees the leases of one acquisition. It asks once more, in one call, for the leases
// without an answer. The repeat must know of the first call. A lease that the first call freed is
// no longer held, and would otherwise count as lost.
func (l *Locker) releaseGroup(ctx context.Context, backend Batcher, group []member) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.callTimeout(group[0].h.duration))
	defer cancel()
	left := group
	for range 2 {
		all := make([]*heldLease, len(left))
		for i, m := range left {
			all[i] = m.h
		}
		errs := backend.ReleaseMany(ctx, keysOf(all), all[0].token)
		var unknown []member
		for i, m := range left {
			*m.err = m.h.heard(errs[i])
			if unanswered(*m.err) {
				unknown = append(unknown, m)
			}
		}
		if left = unknown; len(left) == 0 || ctx.Err() != nil {
			break
		}
	}
	for _, m := range group {
		*m.err = m.h.endRelease(*m.err)
	}
}
