package lock

import (
	"errors"
	"fmt"
	"time"
)

// Use errors.Is to tell the errors of this package apart.
var (
	// ErrNotAcquired means that another holder has the key. If the caller's context ended the wait,
	// the context's error is joined.
	ErrNotAcquired = errors.New("lock: not acquired")
	// ErrHeld means that another token has the key. A Backend returns it as a *HeldError. Every
	// ErrHeld is also an ErrNotAcquired.
	ErrHeld = errors.New("lock: held by another")
	// ErrLost is the cause with which the context of a lease ends when the
	// lease is no longer certain to be ours.
	ErrLost = errors.New("lock: lease lost")
	// ErrNotHeld means that the key is not ours: it was released, it ran out, or another token has
	// it. If another token has it, a *HeldError is joined.
	ErrNotHeld = errors.New("lock: not held")
	// ErrUnavailable means that the server gave no usable answer. The error of the server or the
	// network is joined.
	ErrUnavailable = errors.New("lock: server unavailable")
	// ErrClosed means that the Locker was closed.
	ErrClosed = errors.New("lock: closed")
	// ErrOutcomeUnknown is for the work to wrap, if the work does not know whether its effect has
	// happened. Do then lets the key run out by itself. So no caller comes in before the outcome
	// had time to become certain.
	ErrOutcomeUnknown = errors.New("lock: outcome of the work is unknown")
)

// HeldError is the error of a Backend when another token has the key.
type HeldError struct {
	Key string
	// Remaining is how long the present lease still lasts unless it is renewed. Zero means that the
	// server did not say.
	Remaining time.Duration
	// Again means that the backend asked more than once, as in a Grant.
	Again bool
}

// Error names the key and the rest of the other's lease.
func (e *HeldError) Error() string {
	if e.Remaining <= 0 {
		return fmt.Sprintf("lock: %q is held by another", e.Key)
	}
	return fmt.Sprintf("lock: %q is held by another for up to %v", e.Key, e.Remaining)
}

// Is reports whether target is ErrHeld or ErrNotAcquired: a HeldError is both.
func (e *HeldError) Is(target error) bool { return target == ErrHeld || target == ErrNotAcquired }
