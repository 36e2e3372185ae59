package gather_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"example.com/seckill/internal/platform/gather"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// recorder is a Serve that takes a second for each batch.
type recorder struct {
	mu      sync.Mutex
	batches [][]int
}

func (r *recorder) serve(batch []int) {
	r.mu.Lock()
	r.batches = append(r.batches, batch)
	r.mu.Unlock()
	time.Sleep(time.Second)
}

// seen returns the batches so far, when nothing is left to do at this time.
func (r *recorder) seen() [][]int {
	synctest.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.batches
}

func TestAdd_BatchInProgress_MembersFormTheNextBatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r recorder
		g := gather.New(gather.Options[int]{Serve: r.serve, Size: 3})
		for i := range 6 {
			g.Add(i)
			synctest.Wait()
		}
		require.NoError(t, g.Close(t.Context()))
		require.Equal(t, [][]int{{0}, {1, 2, 3}, {4, 5}}, r.batches)
	})
}

func TestAdd_AnotherIsRefused_OneBatchAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r recorder
		asked := 0
		g := gather.New(gather.Options[int]{
			Serve: r.serve, Size: 9, AtOnce: 2,
			Another: func(waiting, inProgress int, _ time.Duration) bool { asked++; return waiting >= 2*inProgress },
		})
		for i := range 3 { // the third makes two that wait beside one in progress
			g.Add(i)
			synctest.Wait()
		}
		require.Equal(t, [][]int{{0}, {1, 2}}, r.seen(), "both in progress")
		g.Add(3)
		require.Len(t, r.seen(), 2, "two are in progress, and no more may be")
		require.NoError(t, g.Close(t.Context()))
		require.Positive(t, asked)
		require.Equal(t, []int{3}, r.batches[2])
	})
}

// A batch that hangs must not keep the others waiting if Another looks at its age.
func TestLook_BatchTakesLong_AnotherBegins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r recorder
		g := gather.New(gather.Options[int]{
			Serve: r.serve, Size: 9, AtOnce: 2,
			Another: func(_, _ int, since time.Duration) bool { return since > 30*time.Millisecond },
		})
		g.Add(0)
		synctest.Wait()
		g.Add(1)
		time.Sleep(gather.LookEvery + time.Millisecond)
		require.Len(t, r.seen(), 1)
		time.Sleep(gather.LookEvery)
		require.Equal(t, [][]int{{0}, {1}}, r.seen())
		require.NoError(t, g.Close(t.Context()))
	})
}

func TestDrop_MemberThatWaits_IsNotServed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r recorder
		var mu sync.Mutex
		dropped := map[int]bool{}
		g := gather.New(gather.Options[int]{Serve: r.serve, Size: 1, Drop: func(v int) bool {
			mu.Lock()
			defer mu.Unlock()
			return dropped[v]
		}})
		for i := range 3 {
			g.Add(i)
			synctest.Wait()
		}
		mu.Lock()
		dropped[1] = true
		mu.Unlock()
		require.NoError(t, g.Close(t.Context()))
		require.Equal(t, [][]int{{0}, {2}}, r.batches)
	})
}

func TestClose_ContextEnds_ReturnsItsCause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r recorder
		g := gather.New(gather.Options[int]{Serve: r.serve, Size: 1})
		g.Add(0)
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		require.ErrorIs(t, g.Close(ctx), context.DeadlineExceeded)
		require.NoError(t, g.Close(t.Context()))
	})
}
