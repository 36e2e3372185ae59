package order_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/lock"
	"example.com/seckill/internal/order"
	"example.com/seckill/internal/testing/apptest"
)

// What the entry asked for is known only after the commit: an entry that was
// acknowledged before would be lost with the instance.
func TestWorker_OutcomeUnknown_DoesNotAcknowledge(t *testing.T) {
	s := open(t)
	for name, tc := range map[string]struct {
		commit string
		live   int64
	}{
		"it was committed":     {"after commit", 1},
		"it was not committed": {"before commit", 1},
	} {
		t.Run(name, func(t *testing.T) {
			c := s.sell(t, shards, 1)
			f := failing(tc.commit, "before void")
			dying := s.queueing("dying", f.into)
			o := queued(t, dying, c, 7, name)
			consuming(t, s, func() bool { return len(f.left()) == 0 }, dying)
			require.EqualValues(t, 1, s.waiting(t, c).Entries, "the entry waits for somebody who knows")
			s.runOut(t, 7)
			consuming(t, s, s.drained(t, c), s.queueing("heir"))
			shown, err := s.Get(t.Context(), o.ID, 7)
			require.NoError(t, err)
			require.Equal(t, order.Pending, shown.Status)
			s.settled(t, c, tc.live)
		})
	}
}

func TestWorker_ConsumerDies_AnotherServesItsEntry(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		c := s.sell(t, shards, 1)
		heir := s.queueing("heir")
		o := queued(t, heir, c, 7, "k")
		entries, err := s.stock.Queue("dead", 0).Next(t.Context(), c, 16)
		require.NoError(t, err)
		require.Len(t, entries, 1)
		consuming(t, s, s.drained(t, c), heir)
		shown, err := s.Get(t.Context(), o.ID, 7)
		require.NoError(t, err)
		require.Equal(t, order.Pending, shown.Status)
		s.atRest(t, c, 1)
	})
}

// A refused request is remembered by its void order alone: another delivery of its
// entry, after the unit went back, must not sell a unit without a hold.
func TestWorker_RefusedEntryDeliveredAgain_SellsNothing(t *testing.T) {
	s := open(t)
	c := s.sell(t, shards, 1)
	f := failing("before done")
	here := s.queueing("here", f.into)
	o := queued(t, here, c, 7, "k")
	s.later(maxAge)
	defer s.later(0)
	consuming(t, s, func() bool { return len(f.left()) == 0 }, here)
	s.later(0)
	consuming(t, s, s.drained(t, c), s.queueing("heir"))
	shown, err := s.Get(t.Context(), o.ID, 7)
	require.NoError(t, err)
	require.Equal(t, order.Void, shown.Status)
	s.atRest(t, c, 0)
}

func TestWorker_UnreadableEntry_DeadLettersAndReturnsUnit(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		c := s.sell(t, shards, 1)
		f := failing("before void")
		here := s.queueing("here", f.into)
		o := queued(t, here, c, 7, "k")
		s.spoil(t, c, o)
		consuming(t, s, s.drained(t, c), here)
		require.Empty(t, f.left(), "the void was tried, and tried again")
		require.EqualValues(t, 1, s.waiting(t, c).DeadLetters)
		void, err := s.db.ByRequest(t.Context(), o.RequestID, o.UserID)
		require.NoError(t, err)
		require.Equal(t, order.Void, void.Status)
		s.atRest(t, c, 0)
		shown, err := s.Get(t.Context(), o.ID, 7)
		require.NoError(t, err)
		require.Equal(t, order.Void, shown.Status)
	})
}

// spoil makes the order's entry unreadable.
func (s *shop) spoil(t *testing.T, c coupon.Coupon, o order.Order) {
	t.Helper()
	stream := apptest.Key(c, o.Shard, "queue")
	found, err := s.redis.XRange(t.Context(), stream, "-", "+").Result()
	require.NoError(t, err)
	for _, m := range found {
		require.NoError(t, s.redis.XDel(t.Context(), stream, m.ID).Err())
		m.Values["entry"] = "{"
		require.NoError(t, s.redis.XAdd(t.Context(), &redis.XAddArgs{Stream: stream, Values: m.Values}).Err())
	}
}

// leaves lets five consumers take the only entry of a coupon, and acknowledges it with none of them.
func (s *shop) leaves(t *testing.T, c coupon.Coupon) {
	t.Helper()
	dead := s.stock.Queue("dead", 0)
	left, err := dead.Next(t.Context(), c, 16)
	for n := 1; n < 5; n++ {
		require.NoError(t, err)
		require.Len(t, left, 1)
		require.Equal(t, n, left[0].Deliveries)
		left, err = dead.ClaimAbandoned(t.Context(), c, 16)
	}
	require.NoError(t, err)
}

// The database was away for five deliveries, and the request may still wait.
func TestWorker_FiveConsumersLeftAYoungEntry_CommitsTheOrder(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		c := s.sell(t, shards, 1)
		here := s.queueing("here")
		o := queued(t, here, c, 7, "k")
		s.leaves(t, c)
		consuming(t, s, s.drained(t, c), here)
		require.Zero(t, s.waiting(t, c).DeadLetters)
		shown, err := s.Get(t.Context(), o.ID, 7)
		require.NoError(t, err)
		require.Equal(t, order.Pending, shown.Status, "it was answered 202")
		s.atRest(t, c, 1)
	})
}

func TestWorker_FiveConsumersDied_DeadLettersEntry(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		c := s.sell(t, shards, 1)
		here := s.queueing("here")
		o := queued(t, here, c, 7, "k")
		s.leaves(t, c)
		s.later(maxAge)
		defer s.later(0)
		consuming(t, s, s.drained(t, c), here)
		require.EqualValues(t, 1, s.waiting(t, c).DeadLetters)
		shown, err := s.Get(t.Context(), o.ID, 7)
		require.NoError(t, err)
		require.Equal(t, order.Void, shown.Status)
		s.atRest(t, c, 0)
	})
}

func TestWorker_UserBusy_ServesEntryLater(t *testing.T) {
	s := open(t)
	c := s.sell(t, shards, 1)
	here := s.queueing("here")
	o := queued(t, here, c, 7, "k")
	held, free := make(chan struct{}), make(chan struct{})
	var user sync.WaitGroup
	user.Go(func() {
		_ = s.locker(t, patient).Do(context.Background(), "user:7", func(context.Context, *lock.Lease) error {
			close(held)
			<-free
			return nil
		})
	})
	<-held
	time.AfterFunc(300*time.Millisecond, func() { close(free) })
	consuming(t, s, s.drained(t, c), here)
	user.Wait()
	shown, err := s.Get(t.Context(), o.ID, 7)
	require.NoError(t, err)
	require.Equal(t, order.Pending, shown.Status)
	s.atRest(t, c, 1)
}

func TestReconciler_QueuedHold_WaitsForItsEntry(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		c := s.sell(t, shards, 1)
		patiently := s.queueing("here", func(p *order.Deps) { p.QueueMaxAge = time.Hour })
		left := queued(t, patiently, c, 7, "k")
		n, err := s.Reconcile(t.Context(), c, 0)
		require.NoError(t, err)
		require.Zero(t, n)
		here := s.queueing("here")
		o := queued(t, here, c, 8, "k")
		n, err = s.Reconcile(t.Context(), c, 0)
		require.NoError(t, err)
		require.Equal(t, 1, n)
		consuming(t, s, s.drained(t, c), here)
		shown, err := s.Get(t.Context(), o.ID, 8)
		require.NoError(t, err)
		require.Equal(t, order.Void, shown.Status, "what was voided is never sold")
		shown, err = s.Get(t.Context(), left.ID, 7)
		require.NoError(t, err)
		require.Equal(t, order.Pending, shown.Status)
		s.atRest(t, c, 1)
	})
}
