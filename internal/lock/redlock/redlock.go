package redlock

import (
	"cmp"
	"context"
	_ "embed" // the scripts
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/seckill/internal/lock"
)

// The scripts, one atomic step on one node each.
var (
	//go:embed acquire.lua
	acquireSource string
	//go:embed renew.lua
	renewSource string
	//go:embed release.lua
	releaseSource string

	acquireScript = redis.NewScript(acquireSource)
	renewScript   = redis.NewScript(renewSource)
	releaseScript = redis.NewScript(releaseSource)
)

const (
	defaultNodeTimeout = 100 * time.Millisecond
	// A Locker stops trusting a lease a tenth before its end, at most a second. That
	// is more than the drift between these two, and so no other lease is granted.
	minLease = 5 * time.Millisecond
	maxLease = 99 * time.Second
)

// Options are the settings of a Backend.
type Options struct {
	// Fencer returns the fence of each grant. Without one every fence is 0 and guards
	// nothing: that is for work which needs none.
	Fencer lock.Fencer
	// Prefix begins the names of the keys. Default: seckill:
	Prefix string
	// NodeTimeout is how long one node may take to answer. Default 100 ms. It should
	// be much smaller than a lease.
	NodeTimeout time.Duration
}

// Backend is a lock.Backend, and a lock.FenceAdvancer if it has a Fencer.
type Backend struct {
	nodes  []redis.Scripter
	quorum int
	o      Options
	fences fences
	asked  atomic.Uint64   // the number of the last question for votes
	late   []*lock.Cleaner // of each node: takes back the votes that were not heard of
	tidy   sync.WaitGroup  // questions to nodes that did not answer
}

var (
	_ lock.Backend       = (*Backend)(nil)
	_ lock.FenceAdvancer = (*Backend)(nil)
)

// New returns a Backend on independent masters; an odd number of them, and five rather
// than three. Their clients should neither retry by themselves (MaxRetries −1) nor
// outlast their context (ContextTimeoutEnabled). Closing them is the caller's.
func New[N redis.Scripter](nodes []N, o Options) (*Backend, error) {
	if len(nodes) == 0 {
		return nil, errors.New("redlock: no nodes")
	}
	if o.NodeTimeout < 0 {
		return nil, fmt.Errorf("redlock: NodeTimeout %v is negative", o.NodeTimeout)
	}
	o.Prefix = cmp.Or(o.Prefix, defaultPrefix)
	o.NodeTimeout = cmp.Or(o.NodeTimeout, defaultNodeTimeout)
	b := &Backend{quorum: len(nodes)/2 + 1, o: o, fences: fences{given: map[holder]*given{}}}
	for _, n := range nodes {
		b.nodes, b.late = append(b.nodes, n), append(b.late, b.newCleaner(n))
	}
	return b, nil
}

// closeWithin bounds Close, also while a node does not answer.
const closeWithin = time.Second

// Close waits for clean-ups and questions that are under way, but a second at most. A question to
// a node that does not answer ends with its own timeout, or when its client is closed. No call may
// be made after Close.
func (b *Backend) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), closeWithin)
	defer cancel()
	quiet := make(chan struct{})
	go func() { // ends: every question has a timeout
		var late sync.WaitGroup
		for _, c := range b.late {
			late.Go(func() { _ = c.Close(ctx) }) // it fails with its context only
		}
		late.Wait()
		b.tidy.Wait()
		close(quiet)
	}()
	select {
	case <-quiet:
	case <-ctx.Done():
	}
}

// Renew makes the lease last from now, if a majority still has it. A node that lost
// the key does not get it back, and a majority that lost it ends the lease.
func (b *Backend) Renew(ctx context.Context, key, token string, lease time.Duration) error {
	start := time.Now()
	p := b.poll(ctx, renewScript, key, token, millis(lease))
	if err := p.owned("renew", key); err != nil {
		return err
	}
	if err := inTime(start, lease); err != nil {
		return fmt.Errorf("redlock: renew: %w", err)
	}
	b.fences.recall(holder{key, token}, lease)
	return nil
}

// Release frees key on every node where token still has it. It is ErrNotHeld unless
// that was a majority. A node that does not answer, or has no vote to give back, may get
// one late.
func (b *Backend) Release(ctx context.Context, key, token string) error {
	b.fences.forget(holder{key, token})
	last := b.asked.Load()
	p := b.poll(ctx, releaseScript, key, token)
	for i, v := range p.votes {
		if v.err != nil || v.says == "free" {
			b.takeBack(i, key, token, last)
		}
	}
	return p.owned("release", key)
}

// AdvanceFence lifts the Fencer's counter of key; without a Fencer it is
// errors.ErrUnsupported.
func (b *Backend) AdvanceFence(ctx context.Context, key string, above uint64) error {
	return lock.AdvanceFenceBy(ctx, b.o.Fencer, key, above)
}

// drift allows for clocks that do not run alike, and for the millisecond in which
// Redis notices that a key expired.
func drift(lease time.Duration) time.Duration { return lease/100 + 2*time.Millisecond }

// inTime refuses an answer that took so long that the lease may be over.
func inTime(start time.Time, lease time.Duration) error {
	elapsed := time.Since(start)
	if validity := lease - elapsed - drift(lease); validity <= 0 {
		return fmt.Errorf("a majority agreed after %v, too late for a lease of %v", elapsed, lease)
	}
	return nil
}

func (b *Backend) nameOf(key string) string { return b.o.Prefix + lockName + key }

const defaultPrefix, lockName = "seckill:", "redlock:"

// millis rounds up: a lease is never shorter than was asked for.
func millis(d time.Duration) int64 {
	return int64((d + time.Millisecond - 1) / time.Millisecond)
}
