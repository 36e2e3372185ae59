package lock

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// These look inside the queue, because what they are about happens in the moment
// between two locks of its mutex.

func TestQueue_EveryWaiter_IsServedInTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue()
		require.True(t, q.tryEnter("a"))
		var order []int // guarded by the queue
		for i := range 5 {
			go func() {
				if enter(t.Context(), q) == nil {
					order = append(order, i)
					q.leave("a", turn{})
				}
			}()
			synctest.Wait() // it stands in line
		}
		q.leave("a", turn{})
		synctest.Wait()
		require.Equal(t, []int{0, 1, 2, 3, 4}, order)
		require.Empty(t, q.keys)
	})
}

func TestQueue_TurnAsWaiterGivesUp_GoesToTheNext(t *testing.T) {
	for range 200 {
		q := newQueue()
		require.True(t, q.tryEnter("a"))
		ctx, cancel := context.WithCancel(t.Context())
		got := make(chan error, 1)
		go func() { got <- enter(ctx, q) }()
		require.Eventually(t, func() bool {
			q.mu.Lock()
			defer q.mu.Unlock()
			return q.keys["a"] != nil && q.keys["a"].Len() == 1
		}, 5*time.Second, 20*time.Microsecond)
		q.mu.Lock() // the waiter cannot leave the line before it is its turn
		cancel()
		q.next("a", turn{})
		q.mu.Unlock()
		if <-got == nil {
			q.leave("a", turn{})
		}
		require.Empty(t, q.keys, "nobody is inside, so nothing is left")
	}
}

// never gives a key, and has none to free.
type never struct{ Backend }

func (never) Release(context.Context, string, string) error { return ErrNotHeld }

func TestQueue_HandoffAsCallerGivesUp_IsUndone(t *testing.T) {
	undone := 0
	for range 200 {
		l, err := New(never{}, Options{Lease: time.Minute, Wait: time.Minute})
		require.NoError(t, err)
		require.True(t, l.queue.tryEnter("a"))
		ctx, cancel := context.WithCancel(t.Context())
		p := newPlace(request{key: "a", lease: time.Minute, wait: time.Minute}, "token")
		got := make(chan error, 1)
		go func() {
			_, err := l.enter(ctx, ctx, p)
			got <- err
		}()
		require.Eventually(t, func() bool { return l.queue.first("a") == p }, 5*time.Second, 20*time.Microsecond)
		l.queue.mu.Lock() // the caller cannot leave the line before it has the key
		cancel()
		l.queue.next("a", turn{passed: true})
		l.queue.mu.Unlock()
		if err := <-got; err != nil {
			undone++
			l.cleaner.mu.Lock()
			require.Contains(t, l.cleaner.all, owned{"a", "token"})
			l.cleaner.mu.Unlock()
			l.cleaner.Drop("a", "token") // Close would wait for a second
		}
		require.NoError(t, l.Close(t.Context()))
	}
	require.Positive(t, undone)
}

func TestQueue_WaiterGaveUp_IsSkipped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue()
		require.True(t, q.tryEnter("a"))
		ctx, cancel := context.WithCancel(t.Context())
		gaveUp, served := make(chan error, 1), make(chan error, 1)
		go func() { gaveUp <- enter(ctx, q) }()
		synctest.Wait()
		go func() { served <- enter(t.Context(), q) }()
		synctest.Wait()
		cancel()
		require.ErrorIs(t, <-gaveUp, context.Canceled)
		q.leave("a", turn{})
		synctest.Wait()
		require.Len(t, served, 1)
		q.leave("a", turn{})
		require.Empty(t, q.keys)
	})
}

func enter(ctx context.Context, q *queue) error {
	_, err := q.enter(ctx, newPlace(request{key: "a"}, ""), nil)
	return err
}
