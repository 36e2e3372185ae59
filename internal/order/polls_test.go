package order_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/lock"
	"example.com/seckill/internal/order"
)

// countedReads counts what a poll asks the database and Redis.
type countedReads struct {
	order.Database
	reads atomic.Int64
}

func (c *countedReads) Get(ctx context.Context, id, userID int64) (order.Order, error) {
	c.reads.Add(1)
	return c.Database.Get(ctx, id, userID)
}

func (c *countedReads) into(p *order.Deps) {
	c.Database = p.DB
	p.DB = c
}

func TestPoll_CommittedHere_IsHeldAndAsksNoStore(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		c := s.sell(t, 40, 1)
		reads := &countedReads{}
		here := s.queueing("here", reads.into)
		// A poll whose moment ends while its order is committed reads: then another one is asked for.
		for user := int64(1); user == 1 || reads.reads.Load() > 0; user++ {
			require.Less(t, user, int64(20), "each poll has read")
			o := queued(t, here, c, user, "k")
			polled := make(chan answer)
			go func() {
				a := answer{order: o}
				for a.order.Status == order.Queued && a.err == nil {
					reads.reads.Store(0)
					a.order, a.err = here.Get(context.WithoutCancel(t.Context()), o.ID, user)
				}
				polled <- a
			}()
			require.Eventually(t, func() bool { return reads.reads.Load() > 0 }, patient, time.Millisecond, "a poll that was held in vain")
			consuming(t, s, s.drained(t, c), here)
			a := <-polled
			require.NoError(t, a.err)
			atOnce := reads.reads.Load()
			stored, err := s.Get(t.Context(), o.ID, user)
			require.NoError(t, err)
			require.Equal(t, stored, a.order, "what is in the database")
			require.Equal(t, atOnce, reads.reads.Load())
		}
		require.Zero(t, here.PollsKnown())
	})
}

// slowToUnlock holds what was done inside a lock up before it is told.
type slowToUnlock struct {
	order.Locker
	done func()
	goOn chan struct{}
}

func (l slowToUnlock) Do(ctx context.Context, key string, work func(context.Context, *lock.Lease) error, opts ...lock.Option) error {
	err := l.Locker.Do(ctx, key, work, opts...)
	l.done()
	<-l.goOn
	return err
}

func (l slowToUnlock) DoMany(
	ctx context.Context, keys []string, work func(context.Context, []*lock.Lease) []error, opts ...lock.Option,
) []error {
	errs := l.Locker.DoMany(ctx, keys, work, opts...)
	l.done()
	<-l.goOn
	return errs
}

// Between a commit and its end in memory the order may be read, and paid.
func TestPoll_StartsAfterCommit_SeesTheCommittedOrder(t *testing.T) {
	onEach(t, func(t *testing.T, s *shop) {
		c := s.sell(t, shards, 1)
		committed := make(chan struct{})
		slow := slowToUnlock{done: sync.OnceFunc(func() { close(committed) }), goOn: make(chan struct{})}
		here := s.queueing("here", s.claimsNothing("here"), func(p *order.Deps) { slow.Locker, p.Locker = p.Locker, &slow })
		o := queued(t, here, c, 7, "k")
		var paid error
		polled := make(chan answer, 1)
		go func() {
			defer close(slow.goOn)
			<-committed
			_, paid = s.Pay(context.WithoutCancel(t.Context()), o.ID, 7)
			go func() {
				var a answer
				a.order, a.err = here.Get(context.WithoutCancel(t.Context()), o.ID, 7)
				polled <- a
			}()
			for here.PollsHeld() == 0 && len(polled) == 0 { // until it waits, or has waited
				time.Sleep(time.Millisecond)
			}
		}()
		consuming(t, s, s.drained(t, c), here)
		a := <-polled
		require.NoError(t, paid)
		require.NoError(t, a.err)
		require.Equal(t, order.Paid, a.order.Status)
	})
}

// An entry that comes again is of an order that may have been paid long ago.
func TestLongPoll_EntryRedelivered_ReturnsPaidOrder(t *testing.T) {
	onEach(t, func(t *testing.T, s *shop) {
		c := s.sell(t, shards, 1)
		here := s.queueing("here")
		o := queued(t, here, c, 7, "k")
		f := failing("after commit", "before void")
		consuming(t, s, func() bool { return len(f.left()) == 0 }, s.queueing("dying", f.into))
		s.runOut(t, 7)
		_, err := s.Pay(t.Context(), o.ID, 7)
		require.NoError(t, err)
		polled := make(chan answer, 1)
		go func() {
			var a answer
			a.order, a.err = here.Get(context.WithoutCancel(t.Context()), o.ID, 7)
			polled <- a
		}()
		require.Eventually(t, func() bool { return here.PollsHeld() > 0 || len(polled) > 0 }, patient, time.Millisecond)
		consuming(t, s, s.drained(t, c), here)
		a := <-polled
		require.NoError(t, a.err)
		require.Equal(t, order.Paid, a.order.Status)
	})
}

func TestPoll_OrderOfAnother_IsNotHeld(t *testing.T) {
	s := open(t)
	c := s.sell(t, shards, 1)
	here := s.queueing("here")
	o := queued(t, here, c, 7, "k")
	ctx, stop := context.WithCancel(t.Context())
	polled := make(chan error)
	go func() {
		err := order.ErrNotFound
		for errors.Is(err, order.ErrNotFound) && ctx.Err() == nil {
			_, err = here.Get(context.WithoutCancel(ctx), o.ID, 8)
		}
		polled <- err
	}()
	consuming(t, s, s.drained(t, c), here)
	stop()
	require.ErrorIs(t, <-polled, order.ErrNotFound)
}

// An order that another instance commits is found in the database, and is let go of.
func TestPoll_CommittedElsewhere_IsReadFromDatabase(t *testing.T) {
	s := open(t)
	c := s.sell(t, shards, 1)
	here := s.queueing("here")
	o := queued(t, here, c, 7, "k")
	consuming(t, s, s.drained(t, c), s.queueing("elsewhere"))
	shown, err := here.Get(t.Context(), o.ID, 7)
	require.NoError(t, err)
	require.Equal(t, order.Pending, shown.Status)
	require.Equal(t, 1, here.PollsKnown())
	s.later(2*maxAge + time.Second)
	defer s.later(0)
	consuming(t, s, func() bool { return here.PollsKnown() == 0 }, here)
}
