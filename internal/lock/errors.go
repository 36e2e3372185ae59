package lock

import (
	"errors"
	"fmt"
	"time"
)

// The errors of this package are told apart with errors.Is.
var (
	// ErrNotAcquired says that another holder has the key. If the caller's
	// context ended the wait, its error is joined.
	ErrNotAcquired = errors.New("lock: not acquired")
	// ErrHeld is what a Backend answers, as a *HeldError, when another token
	// has the key. Every ErrHeld is also an ErrNotAcquired.
	ErrHeld = errors.New("lock: held by another")
	// ErrLost is the cause with which the context of a lease ends when the
	// lease is no longer certain to be ours.
	ErrLost = errors.New("lock: lease lost")
	// ErrNotHeld says that the key is not ours: it was released, it ran out, or
	// another has it. If another has it, a *HeldError is joined.
	ErrNotHeld = errors.New("lock: not held")
	// ErrUnavailable says that the server gave no usable answer. The server's or
	// the network's own error is joined.
	ErrUnavailable = errors.New("lock: server unavailable")
	// ErrClosed says that the Locker was closed.
	ErrClosed = errors.New("lock: closed")
	// ErrOutcomeUnknown is for the work to wrap: it does not know whether what
	// it did has happened. Do then leaves the key to run out by itself, so that
	// no caller comes in before the outcome had time to settle.
	ErrOutcomeUnknown = errors.New("lock: outcome of the work is unknown")
)

// HeldError is the answer of a Backend when another has the key.
type HeldError struct {
	Key string
	// Remaining is how long the present lease still lasts unless it is renewed;
	// zero means that the server did not say.
	Remaining time.Duration
	// Again says that the backend asked more than once, as in a Grant.
	Again bool
}

// Error names the key and what is left of the other's lease.
func (e *HeldError) Error() string {
	if e.Remaining <= 0 {
		return fmt.Sprintf("lock: %q is held by another", e.Key)
	}
	return fmt.Sprintf("lock: %q is held by another for up to %v", e.Key, e.Remaining)
}

// Is reports whether target is ErrHeld or ErrNotAcquired: a HeldError is both.
func (e *HeldError) Is(target error) bool { return target == ErrHeld || target == ErrNotAcquired }
