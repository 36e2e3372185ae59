package redislock

import (
	"cmp"
	"context"
	_ "embed" // the scripts
	"errors"
	"fmt"
	"log/slog"
	"math"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/seckill/internal/lock"
)

// The scripts, one atomic step each.
var (
	//go:embed held.lua
	heldSource string
	//go:embed count.lua
	countSource string
	//go:embed acquire.lua
	grantSource string
	//go:embed renew.lua
	renewSource string
	//go:embed release.lua
	releaseSource string
	//go:embed raise.lua
	raiseSource string

	acquireSource = heldSource + countSource + grantSource
	acquireScript = redis.NewScript(acquireSource)
	renewScript   = redis.NewScript(renewSource)
	releaseScript = redis.NewScript(releaseSource)
	raiseScript   = redis.NewScript(raiseSource)
)

// Options are the settings of a Backend. The zero value is good.
type Options struct {
	// Scripter runs the scripts, for instance an AutoPipeliner of the same
	// client. Default: the client itself.
	Scripter redis.Scripter
	// Replicas is how many replicas must have a grant before it counts (WAIT).
	// Zero means that the master's word is enough. The program leaves it at zero. The
	// lab shows the effect.
	Replicas int
	// ReplicaTimeout bounds that. Default 100 ms.
	ReplicaTimeout time.Duration
	// Fair serves the waiters of all processes in the order in which they came:
	// each process is one waiter per key, the first in its own queue.
	Fair bool
	// Prefix begins the names of all keys and channels. Default: seckill: (programs with
	// different prefixes do not exclude each other).
	Prefix string
	// PlaceTTL is how long a waiter may be silent before it loses its place in
	// line. It must be longer than lock.Options.Poll, and should be the same in all
	// programs. Default 1 s.
	PlaceTTL time.Duration
	// Logger hears of subscriptions that break. Default slog.Default().
	Logger *slog.Logger
}

// Backend is a lock.Backend, a lock.Batcher, a lock.Handoffer, a lock.FenceAdvancer, a lock.Notifier, a
// lock.FairBackend and a lock.Locator.
type Backend struct {
	client        redis.UniversalClient
	run           redis.Scripter
	o             Options
	subscriptions *subscriptions
}

var (
	_ lock.Backend       = (*Backend)(nil)
	_ lock.FenceAdvancer = (*Backend)(nil)
	_ lock.Notifier      = (*Backend)(nil)
	_ lock.Locator       = (*Backend)(nil)
)

// New returns a Backend on client, which should neither retry by itself
// (MaxRetries −1) nor outlast its context (ContextTimeoutEnabled). Closing the
// client is the caller's.
func New(client redis.UniversalClient, o Options) *Backend {
	o.Logger = cmp.Or(o.Logger, slog.Default())
	o.ReplicaTimeout = cmp.Or(o.ReplicaTimeout, 100*time.Millisecond)
	o.PlaceTTL = cmp.Or(o.PlaceTTL, time.Second)
	o.Scripter = cmp.Or[redis.Scripter](o.Scripter, client)
	return &Backend{client: client, run: o.Scripter, o: o, subscriptions: newSubscriptions(client, o.Logger)}
}

// Acquire takes key. After a network error it asks once more with the same
// token, because the answer may have been lost and the key be ours already.
func (b *Backend) Acquire(ctx context.Context, key, token string, lease time.Duration) (lock.Grant, error) {
	return b.acquire(ctx, key, token, lease, 0, false)
}

// acquire takes key. again reports whether the token has it from an earlier call.
func (b *Backend) acquire(ctx context.Context, key, token string, lease, place time.Duration, again bool) (lock.Grant, error) {
	n := b.namesOf(key)
	r, err := b.ask(ctx, n, token, lease, place)
	if isNetwork(err) && ctx.Err() == nil {
		again = true
		r, err = b.ask(ctx, n, token, lease, place)
	}
	grant, err := granted(key, r, again, err)
	if err != nil {
		return lock.Grant{}, err
	}
	if err := b.replicated(ctx, token, batched{names: n}); err != nil {
		return lock.Grant{}, err
	}
	return grant, nil
}

// granted reads the answer of the script that acquires.
func granted(key string, r []any, again bool, err error) (lock.Grant, error) {
	if err == nil && len(r) != 2 {
		err = fmt.Errorf("unexpected answer %v", r)
	}
	if err != nil {
		return lock.Grant{}, fmt.Errorf("redislock: acquire: %w", err)
	}
	if r[0] != int64(1) {
		held := heldFor(key, r)
		held.Again = again
		return lock.Grant{}, held
	}
	text, _ := r[1].(string)
	return grantOf(text, again)
}

func grantOf(text string, again bool) (lock.Grant, error) {
	fence, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return lock.Grant{}, fmt.Errorf("redislock: acquire: fence %q: %w", text, err)
	}
	return lock.Grant{Fence: fence, Again: again}, nil
}

// Renew makes the lease last from now. It cannot revive one that ran out.
func (b *Backend) Renew(ctx context.Context, key, token string, lease time.Duration) error {
	n := b.namesOf(key)
	r, err := renewScript.Run(ctx, b.run, []string{n.lock}, token, millis(lease)).Slice()
	return owned("renew", key, r, err)
}

// Release frees key and wakes its waiters, if token still has it. In fair mode it
// also gives up the place that token may have in line.
func (b *Backend) Release(ctx context.Context, key, token string) error {
	n := b.namesOf(key)
	r, err := b.leave(ctx, n, token).Slice()
	return owned("release", key, r, err)
}

// AdvanceFence lifts the fence counter of key's bucket. Redis counts up to 2^63−1.
func (b *Backend) AdvanceFence(ctx context.Context, key string, above uint64) error {
	if above >= math.MaxInt64 {
		return fmt.Errorf("redislock: raise the fence above %d: more than Redis can count", above)
	}
	if err := raiseScript.Run(ctx, b.run, []string{b.namesOf(key).fence}, strconv.FormatUint(above, 10)).Err(); err != nil {
		return fmt.Errorf("redislock: raise: %w", err)
	}
	return nil
}

// owned interprets the replies of the scripts that compare the owner.
func owned(doing, key string, r []any, err error) error {
	switch {
	case err != nil:
		return fmt.Errorf("redislock: %s: %w", doing, err)
	case len(r) == 1 && r[0] == int64(1):
		return nil
	case len(r) == 2:
		return fmt.Errorf("%w: %w", lock.ErrNotHeld, heldFor(key, r))
	default:
		return lock.ErrNotHeld
	}
}

// heldFor reads the remaining milliseconds, which Redis rounds: 0 is a lease that is
// about to end, and only a negative number one that does not.
func heldFor(key string, r []any) *lock.HeldError {
	ms, _ := r[1].(int64)
	return &lock.HeldError{Key: key, Remaining: time.Duration(max(ms+1, 0)) * time.Millisecond}
}

// millis rounds up: a lease is never shorter than was asked for.
func millis(d time.Duration) int64 {
	return int64((d + time.Millisecond - 1) / time.Millisecond)
}

// isNetwork reports whether err is not the server's own word, so that the
// command may have been carried out.
func isNetwork(err error) bool {
	var server redis.Error
	return err != nil && !errors.As(err, &server)
}

// replicated waits until enough replicas have the grants, which are on one node. WAIT
// speaks of the writes of its own connection, so the grants are written there once more:
// that is after them, and replicas receive writes in order.
func (b *Backend) replicated(ctx context.Context, token string, given ...batched) error {
	if b.o.Replicas <= 0 || len(given) == 0 {
		return nil
	}
	var node redis.Cmdable = b.client
	switch master, err := b.masterOf(ctx, given[0].names); {
	case err != nil:
		return err
	case master != nil:
		node = master
	}
	var wait *redis.Cmd
	_, err := node.Pipelined(ctx, func(p redis.Pipeliner) error {
		for _, m := range given {
			p.Eval(ctx, touchSource, []string{m.lock}, token)
		}
		wait = p.Do(ctx, "WAIT", b.o.Replicas, b.o.ReplicaTimeout.Milliseconds())
		return nil
	})
	if err != nil {
		return fmt.Errorf("redislock: wait for replicas: %w", err)
	}
	if got, _ := wait.Int(); got < b.o.Replicas {
		return fmt.Errorf("redislock: %d of %d replicas have the grant", got, b.o.Replicas)
	}
	return nil
}

// touchSource writes a granted key over itself, with what is left of its lease.
const touchSource = `
local value = redis.call('GET', KEYS[1])
if value and string.sub(value, 1, #ARGV[1] + 1) == ARGV[1] .. ' ' then
	redis.call('SET', KEYS[1], value, 'KEEPTTL')
end
return 1`
