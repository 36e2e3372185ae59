package order_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/order"
)

// poison panics wherever one user comes to a step, as a fault of the program may do that not every request meets.
type poison struct {
	user int64
	step string
}

func (p poison) at(step string, users ...int64) {
	if step == p.step && slices.Contains(users, p.user) {
		panic(fmt.Sprint("poison at ", step))
	}
}

func (p poison) into(deps *order.Deps) {
	deps.Shards = poisonedStock{deps.Shards, p}
	deps.Committer = poisonedCommitter{deps.Committer, p}
}

type poisonedStock struct {
	order.Shards

	p poison
}

func (s poisonedStock) Reserve(ctx context.Context, requests []order.ReserveRequest) []order.Reservation {
	if requests[0].Alone {
		s.p.at("reserve", requests[0].UserID)
	}
	done := s.Shards.Reserve(ctx, requests)
	for _, r := range requests {
		s.p.at("reserve", r.UserID)
	}
	return done
}

func (s poisonedStock) Confirm(ctx context.Context, holds []order.Hold) []error {
	for _, h := range holds {
		s.p.at("confirm", h.UserID)
	}
	return s.Shards.Confirm(ctx, holds)
}

type poisonedCommitter struct {
	order.Committer

	p poison
}

func (c poisonedCommitter) Place(ctx context.Context, all []*order.Attempt) {
	for _, a := range all {
		c.p.at("commit", a.Order.UserID)
	}
	c.Committer.Place(ctx, all)
}

// A request panics in a batch before any member has a unit. It then panics again in its own goroutine, which answers
// it, and the other members get their orders. After a later panic all members are in doubt. The instance goes on, and
// nothing is lost.
func TestBatch_Panic_InstanceContinues(t *testing.T) {
	s := open(t)
	for step, want := range map[string]struct {
		err  error
		sold int64
	}{
		"reserve": {nil, 4},
		"commit":  {order.ErrCommitUnknown, 0},
		"confirm": {order.ErrCommitUnknown, 5},
	} {
		t.Run(step, func(t *testing.T) {
			c := s.sell(t, 40, 1)
			w := s.crowd(t, poison{poisoned, step}.into)
			for _, a := range poisonedBatch(t, w, c, step) {
				require.ErrorIs(t, a.err, want.err)
			}
			s.settled(t, c, want.sold)
			_, err := w.Place(t.Context(), wish(c, 20, step))
			require.NoError(t, err)
			s.atRest(t, c, want.sold+1)
		})
	}
}

// A request that is queued may have its entry already.
func TestQueuedBatch_Panic_FailsOnlyItsRequest(t *testing.T) {
	s := open(t)
	c := s.sell(t, 40, 1)
	w := s.crowd(t, func(p *order.Deps) {
		p.Queue, p.QueueCapacity, p.HeldPolls = s.stock.Queue("here", 0), 1000, 16
		poison{poisoned, "reserve"}.into(p)
	})
	for _, a := range poisonedBatch(t, w, c, "k") {
		require.NoError(t, a.err)
		require.Equal(t, order.Queued, a.order.Status)
	}
	consuming(t, s, s.drained(t, c), s.queueing("here"))
	s.settled(t, c, 5)
}

const poisoned = 12 // a user

// poisonedBatch sends requests of five users together, and one of them is poisoned. It returns the other answers.
func poisonedBatch(t *testing.T, w *crowd, c coupon.Coupon, key string) (told []*answer) {
	t.Helper()
	for _, user := range []int64{10, 11, 13, 14} {
		told = append(told, w.ask(t.Context(), wish(c, user, key)))
	}
	var panicked any
	var err error
	w.asks.Go(func() {
		defer func() { panicked = recover() }()
		_, err = w.Place(t.Context(), wish(c, poisoned, key))
	})
	require.Eventually(t, func() bool { return w.WaitingForABatch() == 5 }, patient, time.Millisecond)
	w.serve()
	require.Equal(t, []int{5}, w.sizes, "they were together")
	if err == nil {
		require.Contains(t, panicked, "poison")
	} else {
		require.ErrorIs(t, err, order.ErrCommitUnknown)
	}
	return told
}

// An attempt that has left a batch may be in the next one when the first batch panics. The panic is not its own.
func TestPanic_BorrowerIsInTheNextBatch_IsNotTouched(t *testing.T) {
	s := open(t)
	c, lent := s.sell(t, 40, 1), s.sell(t, 1, 1)
	reserved := make(chan struct{})
	w := s.crowd(t, func(p *order.Deps) {
		p.Shards = borrows{p.Shards, lent.ID, reserved}
		p.Committer = panicsAfter{p.Committer, poisoned, reserved}
	})
	borrower := w.ask(t.Context(), wish(lent, last(lent), "borrows"))
	poison := w.ask(t.Context(), wish(c, poisoned, "panics"))
	w.serve()
	require.NoError(t, borrower.err)
	require.Equal(t, order.Pending, borrower.order.Status)
	require.ErrorIs(t, poison.err, order.ErrCommitUnknown)
	s.settled(t, c, 0)
	s.atRest(t, lent, 1)
}

// borrows tells when a unit of the coupon was borrowed.
type borrows struct {
	order.Shards

	coupon int64
	done   chan struct{}
}

func (b borrows) Reserve(ctx context.Context, requests []order.ReserveRequest) []order.Reservation {
	all := b.Shards.Reserve(ctx, requests)
	if r := requests[0]; r.Alone && r.CouponID == b.coupon {
		time.AfterFunc(20*time.Millisecond, func() { close(b.done) }) // by then it waits for the next batch
	}
	return all
}

// panicsAfter panics in the transaction of a user.
type panicsAfter struct {
	order.Committer

	user  int64
	after chan struct{}
}

func (p panicsAfter) Place(ctx context.Context, all []*order.Attempt) {
	for _, a := range all {
		if a.Order.UserID == p.user {
			<-p.after
			panic("of one user")
		}
	}
	p.Committer.Place(ctx, all)
}
