package order_test

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/lock"
	"example.com/seckill/internal/order"
)

// withQueue makes an instance answer before the commit.
func (s *shop) withQueue(name string) func(*order.Deps) {
	return func(p *order.Deps) { p.Queue, p.QueueCapacity = s.stock.Queue(name, 0), 1000 }
}

// claimsNothing lets an instance finish its own deliveries: no entry is abandoned.
func (s *shop) claimsNothing(name string) func(*order.Deps) {
	return func(p *order.Deps) { p.Queue = s.stock.Queue(name, time.Hour) }
}

func TestEnqueueBatch_EachRequest_HasItsIndividualOutcome(t *testing.T) {
	const limited = 1
	s := open(t)
	c, lent, none := s.sell(t, 40, 1), s.sell(t, 1, 1), s.sell(t, 1, 1)
	s.buy(t, c, limited, "")
	s.buy(t, none, limited, "")
	w := s.crowd(t, s.withQueue("one"))
	var plain []*answer
	for user := range int64(10) {
		plain = append(plain, w.ask(t.Context(), wish(c, 100+user, "k")))
	}
	twice := []*answer{w.ask(t.Context(), wish(c, 50, "k")), w.ask(t.Context(), wish(c, 50, "k"))}
	atLimit := w.ask(t.Context(), wish(c, limited, "another"))
	borrowed := w.ask(t.Context(), wish(lent, last(lent), ""))
	soldOut := w.ask(t.Context(), wish(none, 2, ""))
	w.serve()
	require.Equal(t, []int{15}, w.sizes)

	accepted := slices.Concat(plain, []*answer{twice[0], borrowed})
	seen := map[int64]bool{}
	for _, a := range accepted {
		require.NoError(t, a.err)
		require.Equal(t, order.Queued, a.order.Status)
		require.False(t, seen[a.order.ID], "each has an order of its own")
		seen[a.order.ID] = true
		shown, err := s.queueing("elsewhere").Get(t.Context(), a.order.ID, a.order.UserID)
		require.NoError(t, err)
		require.Equal(t, a.order.ID, shown.ID, "every instance answers for it")
	}
	require.NoError(t, twice[1].err)
	require.Equal(t, twice[0].order.ID, twice[1].order.ID, "one request, one order")
	require.ErrorIs(t, atLimit.err, order.ErrLimitReached)
	require.ErrorIs(t, soldOut.err, coupon.ErrSoldOut)
	require.EqualValues(t, 11, s.waiting(t, c).Entries)

	sizes := &transactionSizes{}
	consuming(t, s, func() bool { return s.drained(t, c)() && s.drained(t, lent)() }, s.queueing("worker", sizes.into))
	require.Less(t, len(sizes.all), 8, "12 orders in a few transactions: %v", sizes.all)
	for _, a := range accepted {
		shown, err := s.Get(t.Context(), a.order.ID, a.order.UserID)
		require.NoError(t, err)
		require.Equal(t, order.Pending, shown.Status)
	}
	s.atRest(t, c, 12)
	s.atRest(t, lent, 1)
}

// transactionSizes notes how many orders each transaction is for.
type transactionSizes struct {
	order.Committer
	mu  sync.Mutex
	all []int
}

func (p *transactionSizes) into(d *order.Deps) { p.Committer, d.Committer = d.Committer, p }

func (p *transactionSizes) Place(ctx context.Context, all []*order.Attempt) {
	p.mu.Lock()
	p.all = append(p.all, len(all))
	p.mu.Unlock()
	p.Committer.Place(ctx, all)
}

// A request without an answer may have succeeded. The client sends it again with its key, and it is the same request.
func TestQueueBatch_ReplyLost_IsLostForAllMembers(t *testing.T) {
	s := open(t)
	const users = 6
	for _, step := range []string{"before reserve", "after reserve", "before ticket", "after ticket"} {
		t.Run(step, func(t *testing.T) {
			c := s.sell(t, 40, 1)
			f := failing()
			w := s.crowd(t, func(p *order.Deps) { s.withQueue("one")(p); f.into(p) })
			var all []*answer
			for user := range int64(users) {
				all = append(all, w.ask(t.Context(), wish(c, 10+user, step)))
			}
			w.afterFirst = func() { f.plans(step) }
			w.serve()
			require.Empty(t, f.left(), "did not come to pass")
			heir := s.queueing("heir")
			for user, a := range all {
				require.ErrorIs(t, a.err, order.ErrUnavailable)
				queued(t, heir, c, 10+int64(user), step)
			}
			require.EqualValues(t, users, s.waiting(t, c).Entries)
			consuming(t, s, s.drained(t, c), heir)
			s.atRest(t, c, users)
		})
	}
}

// An entry has the same outcome in any batch as individually.
func TestQueueBatch_EachEntry_HasItsIndividualOutcome(t *testing.T) {
	const locked, atLimit, old, ahead = 1, 2, 3, 4
	s := open(t)
	c := s.sell(t, 60, 1)
	here := s.queueing("here")
	asked := map[int64]order.Order{}
	s.later(-maxAge)
	asked[old] = queued(t, here, c, old, "k")
	s.later(0)
	for user := int64(1); user <= 12; user++ {
		if user != old {
			asked[user] = queued(t, here, c, user, "k")
		}
	}
	// The shard forgets that a request of this user is open, and lets another one be ordered before it.
	other := s.with(unaltered)
	open := shardKey(c, coupon.Home(atLimit, shards), "open")
	was := s.redis.HGet(t.Context(), open, strconv.Itoa(atLimit)).Val()
	require.NoError(t, s.redis.HDel(t.Context(), open, strconv.Itoa(atLimit)).Err())
	_, err := other.Place(t.Context(), wish(c, atLimit, "another"))
	require.NoError(t, err)
	require.NoError(t, s.redis.HSet(t.Context(), open, atLimit, was).Err())
	s.exec(t, "INSERT INTO fences (user_id, fence) VALUES (?, 1 << 60)", ahead)
	holder, err := s.locker(t, 0).Acquire(t.Context(), lock.UserKey(locked))
	require.NoError(t, err)
	time.AfterFunc(50*time.Millisecond, func() { _ = holder.Release(context.WithoutCancel(t.Context())) })

	consuming(t, s, s.drained(t, c), here)
	for user, o := range asked {
		want := order.Pending
		if user == atLimit || user == old {
			want = order.Void
		}
		shown, err := s.queueing("elsewhere").Get(t.Context(), o.ID, user)
		require.NoError(t, err)
		require.Equal(t, want, shown.Status, "of user %d", user)
	}
	s.settled(t, c, 11)
}

// An entry leaves the queue only after the database has its order. Until then each failure in a batch leads to another
// delivery.
func TestQueueBatch_Acknowledges_OnlyCommitted(t *testing.T) {
	s := open(t)
	const users = 6
	for _, step := range []string{
		"before lock", "after lock", "before begin", "before commit", "after commit", "before unlock",
		"before confirm", "after confirm", "before done", "after done",
	} {
		t.Run(step, func(t *testing.T) {
			c := s.sell(t, 40, 1)
			f := failing(step)
			here := s.queueing("here", s.claimsNothing("here"), f.into)
			var asked []order.Order
			for user := range int64(users) {
				asked = append(asked, queued(t, here, c, 10+user, step))
			}
			consuming(t, s, func() bool {
				for user := int64(10); len(f.left()) == 0 && user < 10+users; user++ {
					s.runOut(t, user) // a lease that was left behind ends
				}
				return s.drained(t, c)()
			}, here)
			require.Empty(t, f.left(), "did not come to pass")
			live := int64(0)
			for _, o := range asked {
				shown, err := s.Get(t.Context(), o.ID, o.UserID)
				require.NoError(t, err)
				if shown.Status == order.Pending {
					live++
				} else {
					require.Equal(t, order.Void, shown.Status)
					require.Equal(t, "before commit", step)
				}
			}
			s.settled(t, c, live)
		})
	}
}

// One entry must not take the others with it.
func TestQueueBatch_OneEntryPanics_OthersAreServed(t *testing.T) {
	s := open(t)
	c := s.sell(t, 40, 1)
	here := s.queueing("here")
	var asked []order.Order
	for user := range int64(5) {
		asked = append(asked, queued(t, here, c, 10+user, ""))
	}
	here = s.queueing("here", s.claimsNothing("here"), func(p *order.Deps) { p.Sales = &panicsOnce{Sales: p.Sales, armed: true} })
	consuming(t, s, s.drained(t, c), here)
	for _, o := range asked {
		shown, err := s.Get(t.Context(), o.ID, o.UserID)
		require.NoError(t, err)
		require.Equal(t, order.Pending, shown.Status)
	}
	s.atRest(t, c, 5)
}

type panicsOnce struct {
	order.Sales
	mu    sync.Mutex
	armed bool
}

func (p *panicsOnce) Get(ctx context.Context, id int64) (coupon.Coupon, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.armed {
		p.armed = false
		panic(errors.New("of one entry"))
	}
	return p.Sales.Get(ctx, id)
}
