package redislock

import (
	"context"
	_ "embed" // the scripts
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"example.com/seckill/internal/lock"
)

// A batch of keys is one script, or one script per master of a Cluster. Its names, values and
// counters are those of single keys. So a program that knows no batches excludes them, and they
// exclude that program.
//
//	keys ─▶ by master ─▶ at most perScript at a time ─▶ one script ─▶ done
//	                                                               └▶ left ─▶ the script for one key
//
// The scripts for many keys handle the common cases. They take a key that is free, and free a key
// of the token that no caller waits for. They leave every other key: a key of another token, a
// repeat after a lost reply, waiters, a value of another type. The scripts for one key handle the
// keys that are left, so the rare cases are written once.
//
// On a Cluster a script may use several slots, as long as all of them are on its node
// (allow-cross-slot-keys, Redis 7). The script also leaves a key whose slot has just moved.
var (
	//go:embed many.lua
	manySource string
	//go:embed acquiremany.lua
	acquireManySource string
	//go:embed renewmany.lua
	renewManySource string
	//go:embed releasemany.lua
	releaseManySource string

	acquireMany = newManyScript(countSource + manySource + acquireManySource)
	renewMany   = newManyScript(manySource + renewManySource)
	releaseMany = newManyScript(manySource + releaseManySource)
)

const (
	// perScript is the limit of keys that one script serves. A Redis does nothing else meanwhile.
	// That may take 5 ms, on a machine several times as slow as the development machine.
	perScript = 128
	// leftAtOnce is how many of the keys that a script has left are acquired or released at a time.
	leftAtOnce = 16
)

var _ lock.Batcher = (*Backend)(nil)

// manyScript handles the common cases of many keys.
type manyScript struct{ standalone, cluster *redis.Script }

func newManyScript(source string) manyScript {
	return manyScript{
		standalone: redis.NewScript(source),
		cluster:    redis.NewScript("#!lua flags=allow-cross-slot-keys\n" + source),
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

// AcquireMany does what Acquire does, for each key. If the answer of a script was lost, it runs the
// script once more with the same token.
func (b *Backend) AcquireMany(ctx context.Context, keys []string, token string, lease time.Duration) []lock.Result {
	answers := make([]lock.Result, len(keys))
	b.inParts(ctx, keys, func(part []batched, err error) {
		left, again := part, false
		if err == nil && len(part) > 1 {
			left, again, err = b.acquirePlain(ctx, part, token, lease, answers)
		}
		eachLeft(left, func(m batched) {
			a := &answers[m.index]
			if a.Err = err; err == nil {
				a.Grant, a.Err = b.acquire(ctx, m.key, token, lease, 0, again)
			}
		})
	})
	return answers
}

// acquirePlain takes the free keys of a part, and returns the keys that the script left. After an
// error these are all keys of the part. again reports whether the script was sent more than once.
func (b *Backend) acquirePlain(
	ctx context.Context, part []batched, token string, lease time.Duration, answers []lock.Result,
) (left []batched, again bool, err error) {
	ask := func() ([]string, error) {
		return b.forMany(ctx, acquireMany, part, []any{token, millis(lease)},
			func(m batched) []string { return []string{m.lock, m.fence, b.lineOf(m)} })
	}
	fences, err := ask()
	if again = isNetwork(err) && ctx.Err() == nil; again {
		fences, err = ask()
	}
	if err != nil {
		return part, again, fmt.Errorf("redislock: acquire: %w", err)
	}
	var given []batched
	for i, m := range part {
		if fences[i] == "" {
			left = append(left, m)
			continue
		}
		a := &answers[m.index]
		if a.Grant, a.Err = grantOf(fences[i], again); a.Err == nil {
			given = append(given, m)
		}
	}
	if err := b.replicated(ctx, token, given...); err != nil {
		for _, m := range given {
			answers[m.index] = lock.Result{Err: err}
		}
	}
	return left, again, nil
}

// RenewMany does what Renew does, for each key.
func (b *Backend) RenewMany(ctx context.Context, keys []string, token string, lease time.Duration) []error {
	return b.eachOwned(ctx, keys, "renew", renewMany, []any{token, millis(lease)},
		func(m batched) []string { return []string{m.lock} },
		func(key string) error { return b.Renew(ctx, key, token, lease) })
}

// ReleaseMany does what Release does, for each key.
func (b *Backend) ReleaseMany(ctx context.Context, keys []string, token string) []error {
	return b.eachOwned(ctx, keys, "release", releaseMany, []any{token},
		func(m batched) []string { return []string{m.lock, b.lineOf(m)} },
		func(key string) error { return b.Release(ctx, key, token) })
}

// eachOwned runs a script that compares the owner of each key. It calls alone for each key that the
// script left.
func (b *Backend) eachOwned(ctx context.Context, keys []string, doing string, script manyScript, common []any,
	args func(batched) []string, alone func(key string) error,
) []error {
	errs := make([]error, len(keys))
	b.inParts(ctx, keys, func(part []batched, err error) {
		left := part
		if err == nil && len(part) > 1 {
			var said []string
			if said, err = b.forMany(ctx, script, part, common, args); err == nil {
				left = nil
				for i, m := range part {
					if said[i] == "" {
						left = append(left, m)
					}
				}
			}
		}
		eachLeft(left, func(m batched) {
			if err != nil {
				errs[m.index] = fmt.Errorf("redislock: %s: %w", doing, err)
			} else {
				errs[m.index] = alone(m.key)
			}
		})
	})
	return errs
}

// lineOf returns the name of the line for a key, or "" if the mode is not fair.
func (b *Backend) lineOf(m batched) string {
	if !b.o.Fair {
		return ""
	}
	return m.waitQueue()
}

// forMany runs a script once, and returns its answer for each member. The answer is "" for a member
// that the script left. args returns the arguments of a member, of which the first leads to the
// node.
func (b *Backend) forMany(ctx context.Context, script manyScript, part []batched, common []any,
	args func(batched) []string,
) ([]string, error) {
	argv := slices.Grow(slices.Clone(common), 3*len(part))
	for _, m := range part {
		for _, arg := range args(m) {
			argv = append(argv, arg)
		}
	}
	// Name all keys of the first member. Otherwise, while its slot is moved, the script would make
	// some of them on the new node.
	keys := slices.DeleteFunc(args(part[0]), func(name string) bool { return name == "" })
	said, err := script.of(b.client).Run(ctx, b.run, keys, argv...).StringSlice()
	switch {
	case redis.IsTryAgainError(err): // the slot of the first is being moved
		return make([]string, len(part)), nil
	case err == nil && len(said) != len(part):
		return nil, fmt.Errorf("%d answers for %d keys", len(said), len(part))
	}
	return said, err //nolint:wrapcheck // the caller says what it was for
}

// eachLeft calls do for each key that a script left, some at a time.
func eachLeft(left []batched, do func(m batched)) {
	var all errgroup.Group
	all.SetLimit(leftAtOnce)
	for _, m := range left {
		all.Go(func() error {
			do(m)
			return nil
		})
	}
	_ = all.Wait() // nothing returns an error
}

// inParts calls do for the keys of each master, at most perScript of them at a time, and for all
// parts at once. If the master of a key is not known, do gets only that key, and the error.
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

// ServerOf returns the address of the master that has key. It returns "" if there is only one
// server, or if the client does not know the Cluster yet.
func (b *Backend) ServerOf(key string) string {
	known, cancel := context.WithCancel(context.Background())
	cancel() // use only the knowledge of the client, and make no call
	node, err := b.masterOf(known, b.namesOf(key))
	if err != nil || node == nil {
		return ""
	}
	return node.Options().Addr
}

// masterOf returns the node of a Cluster that has a key. It returns nil if there is only one
// server.
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
