package lock

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Backend keeps leases on a server. It knows nothing of waiting, renewing or
// local queues; a Locker does that, the same for every kind of server. All
// deadlines are kept by the server's clock. Any error other than ErrHeld and
// ErrNotHeld means that the server gave no usable answer, and that the call
// may or may not have been carried out.
type Backend interface {
	// Acquire takes key for token, for lease from now by the server's clock.
	// It is idempotent by token: repeating it gives the same grant with the
	// same fence. It answers a *HeldError if another token has the key.
	Acquire(ctx context.Context, key, token string, lease time.Duration) (Grant, error)
	// Renew makes the lease last for lease from now. ErrNotHeld is terminal: a
	// lease that ran out is never revived.
	Renew(ctx context.Context, key, token string, lease time.Duration) error
	// Release frees key if token still has it. Otherwise it writes nothing and
	// answers ErrNotHeld. It may be repeated.
	Release(ctx context.Context, key, token string) error
}

// Grant is what a Backend answers when it gave the key.
type Grant struct {
	// Fence is larger than that of every earlier grant of the same key.
	Fence uint64
	// Gone, unless it is nil, ends when the backend learns by itself that the lease is
	// lost, so that its holder need not wait for the next renewal to hear of it. It
	// also ends, sooner or later, after the release.
	Gone context.Context
	// Again says that the backend asked more than once, because an answer was lost. An
	// earlier call may then arrive after the release, and is undone by a Locker.
	Again bool
	// Awaited says that callers of other processes wait for the key. A Passer tells it.
	Awaited bool
}

// Batcher is a Backend that does for many keys in few trips what it does for one. The
// answers are in the order of the keys, none of which comes twice, and each is what
// Backend would have answered for that key alone: one that is refused, or an answer that
// was lost, says nothing of the others.
type Batcher interface {
	// AcquireMany is Acquire of each key, all for one token.
	AcquireMany(ctx context.Context, keys []string, token string, lease time.Duration) []Answer
	// RenewMany is Renew of each.
	RenewMany(ctx context.Context, keys []string, token string, lease time.Duration) []error
	// ReleaseMany is Release of each.
	ReleaseMany(ctx context.Context, keys []string, token string) []error
}

// Passer is a Backend that can hand a key from its holder to the next one without freeing
// it in between, which between two callers of one process is one trip in place of two.
type Passer interface {
	// Pass is Release of key by token and Acquire for next, for lease from now: both, or
	// neither. It is idempotent by next. It answers ErrNotHeld, and gives nothing, if token
	// does not have the key; and errors.ErrUnsupported, and has done nothing, if the key
	// is to be freed by Release instead.
	Pass(ctx context.Context, key, token, next string, lease time.Duration) (Grant, error)
}

// Answer is what Acquire answers to one key of many.
type Answer struct {
	Grant Grant
	Err   error
}

// Raiser is a Backend whose fence counter can be lifted above one that the
// database has seen, after a failover to a server that knew less.
type Raiser interface {
	// Raise makes every later grant of key have a fence larger than above. It
	// never lowers the counter.
	Raise(ctx context.Context, key string, above uint64) error
}

// Fencer issues fences from a place that outlives the servers of a lock, for a Backend that has
// none of its own.
type Fencer interface {
	// NextFence is larger than every earlier one of the key.
	NextFence(ctx context.Context, key string) (uint64, error)
	// RaiseFence makes every later one larger than above, and lowers none.
	RaiseFence(ctx context.Context, key string, above uint64) error
}

// RaiseBy is Raise of a Backend whose fences are f's; without a Fencer it is
// errors.ErrUnsupported.
func RaiseBy(ctx context.Context, f Fencer, key string, above uint64) error {
	err := errors.ErrUnsupported
	if f != nil {
		err = f.RaiseFence(ctx, key, above)
	}
	if err != nil {
		return fmt.Errorf("raise the fence of %s: %w", key, err)
	}
	return nil
}

// Locator is a Backend on several servers, each of which has some of the keys. A Locker uses it
// so that abandoned keys of a silent server do not delay those of the others.
type Locator interface {
	// ServerOf returns the name of the server that has key, "" if the backend does not know it.
	// It asks no server.
	ServerOf(key string) string
}

// Notifier is a Backend that can tell a waiter that a key was freed. A missed
// message costs a waiter time, never correctness: it also polls.
type Notifier interface {
	// Subscribe returns once messages are certain to arrive. The channel has
	// room for one message. cancel may be called more than once and leaves no
	// subscription behind. token is what the waiter asks with: where waiters stand in
	// line, a message may be for the first of them alone.
	Subscribe(ctx context.Context, key, token string) (freed <-chan struct{}, cancel func(), err error)
}

// Queuer is a Backend that can serve the waiters of all processes in the order in
// which they came.
type Queuer interface {
	// AcquireInTurn is Acquire for a caller that waits: if it is refused, token has
	// a place in line, which lasts as long as token goes on asking. A free key may
	// be refused to those whose turn it is not. Release also gives up the place.
	AcquireInTurn(ctx context.Context, key, token string, lease time.Duration) (Grant, error)
}
