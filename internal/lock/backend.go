package lock

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Backend keeps leases on a server. It does not wait, renew or queue: a Locker does that, in the
// same way for every kind of server. The server's clock keeps all deadlines. Any error other than
// ErrHeld and ErrNotHeld means that the server gave no usable answer. The call may or may not have
// been carried out.
type Backend interface {
	// Acquire takes key for token. The lease lasts for the given time from now, by the server's
	// clock. Acquire is idempotent by token: a repeated call returns the same grant with the same
	// fence. It returns a *HeldError if another token has the key.
	Acquire(ctx context.Context, key, token string, lease time.Duration) (Grant, error)
	// Renew makes the lease last for the given time from now. ErrNotHeld is final: Renew never
	// revives a lease that ran out.
	Renew(ctx context.Context, key, token string, lease time.Duration) error
	// Release frees key if token still has it. Otherwise it writes nothing and returns ErrNotHeld.
	// It may be repeated.
	Release(ctx context.Context, key, token string) error
}

// Grant is the result of an acquisition that got the key.
type Grant struct {
	// Fence is larger than the fence of every earlier grant of the same key.
	Fence uint64
	// Gone, unless it is nil, ends when the backend itself learns that the lease is lost. So the
	// holder hears of the loss before the next renewal. Gone also ends some time after the release.
	Gone context.Context
	// Again means that the backend asked more than once, because an answer was lost. An earlier
	// call may then arrive after the release, and the Locker undoes it.
	Again bool
	// Awaited means that callers of other processes wait for the key. Only a Handoffer sets it.
	Awaited bool
}

// Batcher is a Backend that handles many keys in few round trips. The results are in the order of
// the keys, and no key comes twice. Each result equals the result of Backend for that key. So a
// rejected key, or an answer that was lost, says nothing about the other keys.
type Batcher interface {
	// AcquireMany does what Acquire does, for each key and with one token.
	AcquireMany(ctx context.Context, keys []string, token string, lease time.Duration) []Result
	// RenewMany does what Renew does, for each key.
	RenewMany(ctx context.Context, keys []string, token string, lease time.Duration) []error
	// ReleaseMany does what Release does, for each key.
	ReleaseMany(ctx context.Context, keys []string, token string) []error
}

// Handoffer is a Backend that can hand a key from its holder to the next one without freeing it in
// between. Between two callers of one process this is one round trip instead of two.
type Handoffer interface {
	// Handoff does Release of key by token and Acquire for next, for lease from now: both, or neither.
	// It is idempotent by next. If token does not have the key, Handoff returns ErrNotHeld and changes
	// nothing. If Release must free the key instead, Handoff returns errors.ErrUnsupported and has
	// done nothing.
	Handoff(ctx context.Context, key, token, next string, lease time.Duration) (Grant, error)
}

// Result is the result of AcquireMany for one key.
type Result struct {
	Grant Grant
	Err   error
}

// FenceAdvancer is a Backend whose fence counter can be raised above a fence that the database has seen. A
// failover to a server that knew less makes this necessary.
type FenceAdvancer interface {
	// AdvanceFence makes every later grant of key have a fence larger than above. It
	// never lowers the counter.
	AdvanceFence(ctx context.Context, key string, above uint64) error
}

// Fencer issues fences from a place that outlives the servers of a lock. It is for a Backend that
// has no fences of its own.
type Fencer interface {
	// NextFence returns a fence that is larger than every earlier fence of the key.
	NextFence(ctx context.Context, key string) (uint64, error)
	// AdvanceFence makes every later fence of the key larger than above. It lowers none.
	AdvanceFence(ctx context.Context, key string, above uint64) error
}

// AdvanceFenceBy implements AdvanceFence for a Backend whose fences come from f. Without a Fencer the error is
// errors.ErrUnsupported.
func AdvanceFenceBy(ctx context.Context, f Fencer, key string, above uint64) error {
	err := errors.ErrUnsupported
	if f != nil {
		err = f.AdvanceFence(ctx, key, above)
	}
	if err != nil {
		return fmt.Errorf("raise the fence of %s: %w", key, err)
	}
	return nil
}

// Locator is a Backend on several servers, each of which has some of the keys. A Locker uses it so
// that abandoned keys of a silent server do not delay the keys of the other servers.
type Locator interface {
	// ServerOf returns the name of the server that has key, or "" if the backend does not know it.
	// It makes no call.
	ServerOf(key string) string
}

// Notifier is a Backend that can notify a waiter when a key was freed. A missed message costs a
// waiter time and never correctness, because the waiter also polls.
type Notifier interface {
	// Subscribe returns once messages are certain to arrive. The channel has room for one message.
	// cancel may be called more than once and leaves no subscription behind. The waiter asks with
	// token: where waiters stand in line, a message may be for the first of them only.
	Subscribe(ctx context.Context, key, token string) (freed <-chan struct{}, cancel func(), err error)
}

// FairBackend is a Backend that can serve the waiters of all processes in the order in
// which they came.
type FairBackend interface {
	// AcquireInTurn is Acquire for a caller that waits. If it is rejected, token has a place in
	// line. The place lasts as long as token keeps asking. A free key may be denied to callers
	// whose turn it is not. Release also gives up the place.
	AcquireInTurn(ctx context.Context, key, token string, lease time.Duration) (Grant, error)
}
