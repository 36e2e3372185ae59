package order_test

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/order"
)

// watched notes when steps begin and end.
type watched struct {
	mu   sync.Mutex
	seen []string
}

func (w *watched) note(text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen = append(w.seen, text)
}

func (w *watched) hook(name string) order.Hook {
	return func(ctx context.Context, step order.Step, _ []*order.Attempt, do func(ctx context.Context)) {
		w.note(name + "<" + string(step))
		do(ctx)
		w.note(name + string(step) + ">")
	}
}

func TestHooks_OrderIsPlaced_SurroundEachStepTheFirstOutermost(t *testing.T) {
	onEach(t, func(t *testing.T, s *shop) {
		c := s.sell(t, 10*shards, 1)
		var w watched
		instance := s.with(func(p *order.Deps) { p.Hooks = []order.Hook{w.hook(""), w.hook("  ")} })
		_, err := instance.Place(t.Context(), wish(c, 7, ""))
		require.NoError(t, err)
		require.Equal(t, []string{
			"<reserve", "  <reserve", "  reserve>", "reserve>",
			"<lock", "  <lock", "<work", "  <work", "<commit", "  <commit", "  commit>", "commit>", "  work>", "work>", "  lock>", "lock>",
			"<confirm", "  <confirm", "  confirm>", "confirm>",
		}, w.seen)
	})
}

// A hook may lose the reply of a step. The order path then does what it does after any lost reply.
func TestHooks_ReplyOfAStepIsLost_LeavesTheBooksRight(t *testing.T) {
	onEach(t, func(t *testing.T, s *shop) {
		for step, want := range map[order.Step]struct {
			err    error
			orders int64
		}{
			order.StepReserve: {order.ErrUnavailable, 0}, order.StepCommit: {nil, 1}, order.StepConfirm: {nil, 1},
		} {
			c := s.sell(t, shards, 1)
			lose := func(ctx context.Context, is order.Step, all []*order.Attempt, do func(ctx context.Context)) {
				do(ctx)
				switch {
				case is != step:
				case step == order.StepConfirm:
					all[0].HoldErr = order.ErrUnavailable
				case step == order.StepCommit:
					all[0].Err = order.ErrCommitUnknown
				default:
					all[0].Err = order.ErrUnavailable
				}
			}
			_, err := s.with(func(p *order.Deps) { p.Hooks = []order.Hook{lose} }).Place(t.Context(), wish(c, 7, string(step)))
			require.ErrorIs(t, err, want.err, step)
			s.settled(t, c, want.orders)
		}
	})
}
