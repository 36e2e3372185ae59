package redislock

import (
	"context"
	_ "embed" // the script
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"seckill/internal/lock"
)

// A batch of keys is one script, or one for each master of a Cluster, and names, values and
// counters are those of single keys: a program that knows no batches is excluded by
// them and excludes them.
//
//	keys ─▶ by master ─▶ at most perScript at a time ─▶ for each key: what the script for one does
//
// On a Cluster a script may use several slots, as long as all of them are on its node
// (allow-cross-slot-keys, Redis 7). A key whose slot has just moved is asked for alone.
var (
	//go:embed shared.lua
	sharedSource string
	//go:embed standalone.lua
	standaloneSource string
	//go:embed cluster.lua
	clusterSource string
	//go:embed many.lua
	manySource string

	acquireMany     = newManyScript(acquireSource)
	acquireManyFair = newManyScript(turnSource + acquireSource)
	renewMany       = newManyScript(renewSource)
	releaseMany     = newManyScript(releaseSource)
	releaseManyFair = newManyScript(leaveSource + releaseSource)
)

// perScript is how many keys one script serves at most: a Redis does nothing else
// meanwhile, and that may be 5 ms, on a machine several times as slow as this one.
const perScript = 128

var _ lock.Batcher = (*Backend)(nil)

// manyScript does for many keys what another does for one.
type manyScript struct{ standalone, cluster *redis.Script }

func newManyScript(one string) manyScript {
	many := "local function one(KEYS, ARGV)\n" + one + "\nend\n" + manySource
	return manyScript{
		standalone: redis.NewScript(sharedSource + standaloneSource + many),
		cluster:    redis.NewScript("#!lua flags=allow-cross-slot-keys\n" + sharedSource + clusterSource + many),
	}
}

// of returns the script for a kind of server.
func (s manyScript) of(client redis.UniversalClient) *redis.Script {
	if _, ok := client.(*redis.ClusterClient); ok {
		return s.cluster
	}
	return s.standalone
}

// batched is one key of many: its index and names.
type batched struct {
	index int
	key   string
	names
}

// AcquireMany is Acquire of each key. A script whose answer was lost is asked once more,
// with the same token.
func (b *Backend) AcquireMany(ctx context.Context, keys []string, token string, lease time.Duration) []lock.Answer {
	answers := make([]lock.Answer, len(keys))
	b.inParts(ctx, keys, func(part []batched, err error) {
		if err == nil && len(part) > 1 {
			b.acquirePart(ctx, part, token, lease, answers)
			return
		}
		for _, m := range part {
			a := &answers[m.index]
			if a.Err = err; err == nil {
				a.Grant, a.Err = b.Acquire(ctx, m.key, token, lease)
			}
		}
	})
	return answers
}

func (b *Backend) acquirePart(ctx context.Context, part []batched, token string, lease time.Duration, answers []lock.Answer) {
	ask := func() ([]any, error) {
		if !b.o.Fair {
			return b.forMany(ctx, acquireMany, part, []any{token, millis(lease), 0},
				func(m batched) []any { return []any{m.lock, m.fence} }, 0, 2)
		}
		return b.forMany(ctx, acquireManyFair, part, []any{token, millis(lease), 0, millis(b.o.PlaceTTL)},
			func(m batched) []any { return []any{m.lock, m.fence, m.waitQueue(), m.places()} }, 0, 2)
	}
	said, err := ask()
	again := isNetwork(err) && ctx.Err() == nil
	if again {
		said, err = ask()
	}
	alone := redis.IsTryAgainError(err) // the slot of the first is being moved
	var given []batched
	for i, m := range part {
		a := &answers[m.index]
		if alone {
			a.Grant, a.Err = b.Acquire(ctx, m.key, token, lease)
			continue
		}
		if err != nil {
			a.Err = fmt.Errorf("redislock: acquire: %w", err)
			continue
		}
		r, elsewhere, err := one(said[i])
		switch {
		case elsewhere || b.isApart(r, err):
			a.Grant, a.Err = b.Acquire(ctx, m.key, token, lease)
		default:
			if a.Grant, a.Err = granted(m.key, r, again, err); a.Err == nil {
				given = append(given, m)
			}
		}
	}
	if err := b.replicated(ctx, token, given...); err != nil {
		for _, m := range given {
			answers[m.index] = lock.Answer{Err: err}
		}
	}
}

// RenewMany is Renew of each key.
func (b *Backend) RenewMany(ctx context.Context, keys []string, token string, lease time.Duration) []error {
	return b.eachOwned(ctx, keys, "renew", renewMany, []any{token, millis(lease)},
		func(m batched) []any { return []any{m.lock} }, 0,
		func(key string) error { return b.Renew(ctx, key, token, lease) })
}

// ReleaseMany is Release of each key.
func (b *Backend) ReleaseMany(ctx context.Context, keys []string, token string) []error {
	alone := func(key string) error { return b.Release(ctx, key, token) }
	if !b.o.Fair {
		return b.eachOwned(ctx, keys, "release", releaseMany, []any{token},
			func(m batched) []any { return []any{m.lock, m.channel} }, 1, alone)
	}
	return b.eachOwned(ctx, keys, "release", releaseManyFair, []any{token},
		func(m batched) []any { return []any{m.lock, m.waitQueue(), m.places(), m.channel} }, 1, alone)
}

// eachOwned runs a script that compares the owner for each key.
func (b *Backend) eachOwned(ctx context.Context, keys []string, doing string, script manyScript, common []any,
	args func(batched) []any, own int, alone func(key string) error,
) []error {
	errs := make([]error, len(keys))
	b.inParts(ctx, keys, func(part []batched, err error) {
		var said []any
		if err == nil && len(part) > 1 {
			said, err = b.forMany(ctx, script, part, common, args, own, 1)
			if redis.IsTryAgainError(err) { // the slot of the first is being moved
				said, err = nil, nil
			}
		}
		for i, m := range part {
			var r []any
			elsewhere, err := said == nil, err // alone by itself
			if said != nil {
				r, elsewhere, err = one(said[i])
			}
			if elsewhere && err == nil {
				errs[m.index] = alone(m.key)
				continue
			}
			errs[m.index] = owned(doing, m.key, r, err)
		}
	})
	return errs
}

// forMany runs a script once. args are the names of a member, of which the first leads to
// the node, and as many arguments of its own behind them. The script wants the values of so
// many names, from the first.
func (b *Backend) forMany(ctx context.Context, script manyScript, part []batched, common []any,
	args func(batched) []any, own, values int,
) ([]any, error) {
	argv := []any{len(common), len(args(part[0])) - own, own, values}
	argv = append(argv, common...)
	for _, m := range part {
		argv = append(argv, args(m)...)
	}
	var keys []string // with all of the first, or a part of them would be made where its slot is moved to
	for _, name := range args(part[0])[:len(args(part[0]))-own] {
		keys = append(keys, fmt.Sprint(name))
	}
	said, err := script.of(b.client).Run(ctx, b.run, keys, argv...).Slice()
	if err == nil && len(said) != len(part) {
		err = fmt.Errorf("%d answers for %d keys", len(said), len(part))
	}
	return said, err
}

// one reads what a script for many says of one key, and reports whether nothing was done
// because it is on another node.
func one(said any) (r []any, elsewhere bool, err error) {
	r, _ = said.([]any)
	switch {
	case len(r) == 0:
		return nil, false, fmt.Errorf("unexpected answer %v", said)
	case r[0] == int64(-2):
		return nil, true, nil
	case r[0] == int64(-3):
		return nil, false, errors.New(fmt.Sprint(r[1:]...))
	}
	return r, false, nil
}

// inParts calls do for the keys of each master, at most perScript of them at a time, and
// for all parts at once. err says that a key's master is not known.
func (b *Backend) inParts(ctx context.Context, keys []string, do func(part []batched, err error)) {
	var parts [][]batched
	open := map[*redis.Client]int{} // to the part of each node that is not full
	for i, key := range keys {
		m := batched{index: i, key: key, names: b.namesOf(key)}
		node, err := b.masterOf(ctx, m.names)
		if err != nil {
			do([]batched{m}, err)
			continue
		}
		p, ok := open[node]
		if !ok || len(parts[p]) == perScript {
			p = len(parts)
			open[node], parts = p, append(parts, nil)
		}
		parts[p] = append(parts[p], m)
	}
	if len(parts) == 1 {
		do(parts[0], nil)
		return
	}
	var all sync.WaitGroup
	for _, part := range parts {
		all.Go(func() { do(part, nil) })
	}
	all.Wait()
}

// masterOf returns the node of a Cluster that has a key; nil if there is but one server.
func (b *Backend) masterOf(ctx context.Context, n names) (*redis.Client, error) {
	c, ok := b.client.(*redis.ClusterClient)
	if !ok {
		return nil, nil //nolint:nilnil // there is but one server
	}
	node, err := c.MasterForKey(ctx, n.lock)
	if err != nil {
		return nil, fmt.Errorf("redislock: find the master: %w", err)
	}
	return node, nil
}
