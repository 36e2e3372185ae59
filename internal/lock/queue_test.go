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

func TestEveryWaiterOfTheQueueIsServedInTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue()
		require.True(t, q.tryEnter("a"))
		var order []int // guarded by the queue
		for i := range 5 {
			go func() {
				if q.enter(t.Context(), "a", nil) == nil {
					order = append(order, i)
					q.leave("a")
				}
			}()
			synctest.Wait() // it stands in line
		}
		q.leave("a")
		synctest.Wait()
		require.Equal(t, []int{0, 1, 2, 3, 4}, order)
		require.Empty(t, q.keys)
	})
}

func TestATurnThatComesAsItsWaiterGivesUpIsPassedOn(t *testing.T) {
	for range 200 {
		q := newQueue()
		require.True(t, q.tryEnter("a"))
		ctx, cancel := context.WithCancel(t.Context())
		got := make(chan error, 1)
		go func() { got <- q.enter(ctx, "a", nil) }()
		require.Eventually(t, func() bool {
			q.mu.Lock()
			defer q.mu.Unlock()
			return q.keys["a"] != nil && q.keys["a"].Len() == 1
		}, 5*time.Second, 20*time.Microsecond)
		q.mu.Lock() // the waiter cannot leave the line before it is its turn
		cancel()
		q.next("a")
		q.mu.Unlock()
		if <-got == nil {
			q.leave("a")
		}
		require.Empty(t, q.keys, "nobody is inside, so nothing is left")
	}
}

func TestAWaiterThatGaveUpIsPassedOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue()
		require.True(t, q.tryEnter("a"))
		ctx, cancel := context.WithCancel(t.Context())
		gaveUp, served := make(chan error, 1), make(chan error, 1)
		go func() { gaveUp <- q.enter(ctx, "a", nil) }()
		synctest.Wait()
		go func() { served <- q.enter(t.Context(), "a", nil) }()
		synctest.Wait()
		cancel()
		require.ErrorIs(t, <-gaveUp, context.Canceled)
		q.leave("a")
		synctest.Wait()
		require.Len(t, served, 1)
		q.leave("a")
		require.Empty(t, q.keys)
	})
}
