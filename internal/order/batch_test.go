package order_test

import (
	"context"
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

// crowd is an instance whose orders come at once: its workers are kept busy with orders of
// another coupon until all of them wait.
type crowd struct {
	*order.Service
	t      *testing.T
	resume chan struct{}
	once   sync.Once
	busy   sync.WaitGroup
	asks   sync.WaitGroup

	// afterFirst is called when the orders that keep the workers busy are placed; nil is nothing.
	afterFirst func()

	mu    sync.Mutex
	sizes []int // of the batches
}

// gate has the Shards of a crowd.
type gate struct {
	order.Shards
	of      *crowd
	other   int64 // the coupon that the workers are busy with
	reached chan struct{}
}

func (g gate) Reserve(ctx context.Context, requests []order.ReserveRequest) []order.Reservation {
	switch {
	case requests[0].Alone:
	case requests[0].CouponID == g.other:
		g.reached <- struct{}{}
		<-g.of.resume
	default:
		g.of.busy.Wait()
		if g.of.afterFirst != nil {
			g.of.afterFirst()
			g.of.afterFirst = nil
		}
		g.of.mu.Lock()
		g.of.sizes = append(g.of.sizes, len(requests))
		g.of.mu.Unlock()
	}
	return g.Shards.Reserve(ctx, requests)
}

func (s *shop) crowd(t *testing.T, alter func(p *order.Deps)) *crowd {
	t.Helper()
	w := &crowd{t: t, resume: make(chan struct{})}
	other := s.sell(t, shards, 1)
	reached := make(chan struct{})
	w.Service = s.with(func(p *order.Deps) {
		alter(p)
		p.Shards = gate{p.Shards, w, other.ID, reached}
	})
	for user := range int64(order.BatchesAtOnce) {
		w.busy.Go(func() { _, _ = w.Place(context.WithoutCancel(t.Context()), wish(other, user, "")) })
		<-reached
	}
	t.Cleanup(w.serve) // also of a test that failed before
	return w
}

// ask lets a request wait with those that came before, and returns where its answer will be.
func (w *crowd) ask(ctx context.Context, r order.Request) *answer {
	w.t.Helper()
	a, want := &answer{}, w.WaitingForABatch()+1
	w.asks.Go(func() { a.order, a.err = w.Place(ctx, r) })
	require.Eventually(w.t, func() bool { return w.WaitingForABatch() == want }, patient, time.Millisecond)
	return a
}

// serve lets the workers go on, and returns when every request is answered.
func (w *crowd) serve() {
	w.once.Do(func() { close(w.resume) })
	w.asks.Wait()
	w.busy.Wait()
}

func unaltered(*order.Deps) {}

// An order of a batch has the outcome that it would have by itself.
func TestBatch_EachMember_HasItsIndividualOutcome(t *testing.T) {
	const limited, unaccounted, ahead, locked, gone = 1, 2, 3, 4, 5
	s := open(t)
	c, scarce, lent := s.sell(t, 40, 1), s.sell(t, 1, 1), s.sell(t, 1, 1)
	s.buy(t, c, limited, "")
	s.buy(t, c, unaccounted, "")
	buyers := shardKey(c, coupon.Home(unaccounted, shards), "buyers")
	require.NoError(t, s.redis.HDel(t.Context(), buyers, strconv.Itoa(unaccounted)).Err())
	s.exec(t, "INSERT INTO fences (user_id, fence) VALUES (?, 1 << 60)", ahead)
	holder, err := s.locker(t, 0).Acquire(t.Context(), lock.UserKey(locked))
	require.NoError(t, err)
	release := func() { _ = holder.Release(context.WithoutCancel(t.Context())) }
	t.Cleanup(release)
	require.NoError(t, s.locker(t, 0).AdvanceFence(t.Context(), lock.UserKey(101), 1<<55))

	w := s.crowd(t, unaltered)
	var plain []*answer
	for user := range int64(10) {
		plain = append(plain, w.ask(t.Context(), wish(c, 100+user, "")))
	}
	twice := []*answer{w.ask(t.Context(), wish(c, 50, "k")), w.ask(t.Context(), wish(c, 50, "k"))}
	atLimit := w.ask(t.Context(), wish(c, limited, ""))
	asRowsSay := w.ask(t.Context(), wish(c, unaccounted, ""))
	raised := w.ask(t.Context(), wish(c, ahead, ""))
	held := w.ask(t.Context(), wish(c, locked, ""))
	borrowed := w.ask(t.Context(), wish(lent, last(lent), ""))
	sold, out := w.ask(t.Context(), wish(scarce, 1, "")), w.ask(t.Context(), wish(scarce, 2, ""))
	leaving, leave := context.WithCancel(t.Context())
	left := w.ask(leaving, wish(c, gone, ""))
	leave()
	require.Eventually(t, func() bool { return w.WaitingForABatch() == 19 }, patient, time.Millisecond, "one has left")

	time.AfterFunc(50*time.Millisecond, release)
	w.serve()
	require.Equal(t, []int{19}, w.sizes)
	for _, a := range plain {
		require.NoError(t, a.err)
	}
	for _, a := range []*answer{twice[0], twice[1], raised, held, borrowed} {
		require.NoError(t, a.err)
	}
	require.Equal(t, twice[0].order.ID, twice[1].order.ID, "one request, one order")
	require.Greater(t, plain[1].order.Fence, uint64(1)<<55, "each has its own fence")
	require.Less(t, plain[0].order.Fence, uint64(1)<<55)
	require.Greater(t, raised.order.Fence, uint64(1)<<60)
	require.ErrorIs(t, atLimit.err, order.ErrLimitReached)
	require.ErrorIs(t, asRowsSay.err, order.ErrLimitReached)
	require.ErrorIs(t, left.err, context.Canceled)
	if out.err == nil {
		sold, out = out, sold
	}
	require.NoError(t, sold.err)
	require.ErrorIs(t, out.err, coupon.ErrSoldOut)

	require.NoError(t, s.redis.HSet(t.Context(), buyers, unaccounted, 1).Err())
	s.atRest(t, c, 15)
	s.atRest(t, scarce, 1)
	s.atRest(t, lent, 1)
}

// A lost reply is lost for each order of the batch, and no order gets a wrong answer.
func TestBatch_ReplyLost_IsLostForAllMembers(t *testing.T) {
	s := open(t)
	const users = 6
	for step, tc := range map[string]struct {
		want error
		sold int64
	}{
		"before reserve": {order.ErrUnavailable, 0},
		"after reserve":  {order.ErrUnavailable, 0},
		"before lock":    {order.ErrUnavailable, 0},
		"after lock":     {order.ErrUnavailable, 0},
		"before begin":   {order.ErrUnavailable, 0},
		"before commit":  {order.ErrVoided, 0},
		"after commit":   {nil, users},
		"before unlock":  {nil, users},
		"before confirm": {nil, users},
		"after confirm":  {nil, users},
	} {
		t.Run(step, func(t *testing.T) {
			c := s.sell(t, 40, 1)
			f := failing() // planned when the workers are past their first orders
			w := s.crowd(t, f.into)
			var all []*answer
			for user := range int64(users) {
				all = append(all, w.ask(t.Context(), wish(c, 10+user, step)))
			}
			w.afterFirst = func() { f.plans(step) }
			w.serve()
			for _, a := range all {
				require.ErrorIs(t, a.err, tc.want)
			}
			require.Empty(t, f.left(), "did not come to pass")
			for user := range int64(users) {
				s.runOut(t, 10+user)
			}
			s.settled(t, c, tc.sold)
			for user := range int64(users) { // asking again gives the same order
				again, err := s.Place(t.Context(), wish(c, 10+user, step))
				if tc.sold > 0 {
					require.NoError(t, err)
					require.Equal(t, all[user].order.ID, again.ID)
				} else if err != nil {
					require.ErrorIs(t, err, order.ErrVoided)
				}
			}
			s.settled(t, c, s.number(t, "SELECT COUNT(*) FROM orders WHERE coupon_id = ? AND slot > 0", c.ID))
		})
	}
}

// A request may have had an order before the stock was loaded again: its unit is not that of the hold.
func TestBatch_OrderOfEarlierEpoch_GivesHoldBack(t *testing.T) {
	onEach(t, func(t *testing.T, s *shop) {
		c := s.sell(t, 40, 2)
		before, err := s.with(unaltered).Place(t.Context(), wish(c, 7, "k"))
		require.NoError(t, err)
		c = s.reload(t, c)
		again, err := s.with(failing("before commit").into).Place(t.Context(), wish(c, 7, "k"))
		require.NoError(t, err)
		require.Equal(t, before.ID, again.ID)
		s.atRest(t, c, 1)
	})
}

// The fate of a batch is decided while its locks are held.
func TestBatch_Outcome_IsKnownBeforeUnlock(t *testing.T) {
	onEach(t, func(t *testing.T, s *shop) {
		c := s.sell(t, 40, 1)
		f := failing("after commit")
		o, err := s.with(f.into).Place(t.Context(), wish(c, 7, ""))
		require.NoError(t, err)
		require.NotZero(t, o.ID)
		void, unlock := slices.Index(f.seen, "before void"), slices.Index(f.seen, "before unlock")
		require.GreaterOrEqual(t, void, 0)
		require.Less(t, void, unlock)
	})
}

func TestBatch_ManyRequests_KeepsToItsSize(t *testing.T) {
	s := open(t)
	c := s.sell(t, 40, 1)
	w := s.crowd(t, func(p *order.Deps) { p.BatchSize = 3 })
	for user := range int64(7) {
		w.ask(t.Context(), wish(c, user, ""))
	}
	w.serve()
	require.ElementsMatch(t, []int{3, 3, 1}, w.sizes)
	s.atRest(t, c, 7)
}

// turnstile lets each batch pass when its channel is closed.
type turnstile struct {
	order.Shards
	sizes  chan int
	passes chan chan struct{}
}

func (g turnstile) Reserve(ctx context.Context, requests []order.ReserveRequest) []order.Reservation {
	if requests[0].Alone {
		return g.Shards.Reserve(ctx, requests)
	}
	pass := make(chan struct{})
	g.sizes <- len(requests)
	g.passes <- pass
	<-pass
	return g.Shards.Reserve(ctx, requests)
}

func TestBatch_EnoughWaiting_StartsASecond(t *testing.T) {
	s := open(t)
	c := s.sell(t, 40, 1)
	gate := turnstile{sizes: make(chan int, 40), passes: make(chan chan struct{}, 40)}
	w := &crowd{t: t}
	w.Service = s.with(func(p *order.Deps) { gate.Shards, p.Shards = p.Shards, &gate })
	begun := func() int {
		select {
		case size := <-gate.sizes:
			return size
		case <-time.After(patient):
			return 0
		}
	}
	user := int64(0)
	place := func(waiting int) {
		user++
		r := wish(c, user, "")
		w.asks.Go(func() { _, _ = w.Place(context.WithoutCancel(t.Context()), r) })
		require.Eventually(t, func() bool { return w.WaitingForABatch() == waiting }, patient, time.Millisecond)
	}
	place(0)
	require.Equal(t, 1, begun())
	first := <-gate.passes
	place(0)
	require.Equal(t, 1, begun(), "one waits and one is under way")
	second := <-gate.passes
	for waiting := range 3 {
		place(waiting + 1)
	}
	close(first)
	require.Equal(t, 3, begun())
	third := <-gate.passes
	close(second)
	require.Eventually(t, func() bool { return w.BatchWorkers() == 1 }, patient, time.Millisecond)
	place(1)
	place(2)
	place(0)
	require.Equal(t, 3, begun(), "three wait and three are under way")
	place(1)
	close(third)
	require.Eventually(t, func() bool { return w.BatchWorkers() == 1 }, patient, time.Millisecond, "one waits and three are under way")
	close(<-gate.passes)
	require.Equal(t, 1, begun(), "what was left waiting is not forgotten")
	close(<-gate.passes)
	w.asks.Wait()
	s.atRest(t, c, 9)
	require.Eventually(t, func() bool { return w.BatchWorkers() == 0 }, patient, time.Millisecond)
}

func TestBatch_WaitingRequestExpires_IsPlacedIndividually(t *testing.T) {
	s := open(t)
	c := s.sell(t, 40, 1)
	// It may share a batch for 200 ms, and has ten seconds more to be made.
	w := s.crowd(t, func(p *order.Deps) { p.Cleanup = 20 * time.Second })
	ctx, cancel := context.WithTimeout(t.Context(), 13600*time.Millisecond)
	defer cancel()
	late, other := w.ask(ctx, wish(c, 7, "")), w.ask(t.Context(), wish(c, 8, ""))
	time.Sleep(300 * time.Millisecond)
	w.serve()
	require.NoError(t, late.err)
	require.NoError(t, other.err)
	require.Equal(t, []int{1}, w.sizes, "the other alone had a batch")
	s.atRest(t, c, 2)
}

// However long the workers are kept busy: it has no timer of its own.
func TestBatch_WaitingRequestTimesOut_IsAnswered(t *testing.T) {
	const takes = 4 * time.Second // a quarter of it is left for the cleanups
	s := open(t)
	c := s.sell(t, 40, 1)
	w := s.crowd(t, func(p *order.Deps) { p.Cleanup = takes })
	ctx, cancel := context.WithTimeout(t.Context(), takes)
	defer cancel()
	began, answered := time.Now(), make(chan error, 1)
	w.asks.Go(func() {
		_, err := w.Place(ctx, wish(c, 7, ""))
		answered <- err
	})
	select {
	case err := <-answered:
		require.ErrorIs(t, err, order.ErrUnavailable)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Greater(t, time.Since(began), takes/2)
	case <-ctx.Done():
		t.Error("what may follow its work has no time left")
	}
	w.serve()
	s.atRest(t, c, 0)
}

// It would end the time of the others.
func TestBatch_LittleTimeLeft_IsPlacedIndividually(t *testing.T) {
	s := open(t)
	c := s.sell(t, 40, 1)
	w := s.crowd(t, unaltered)
	ctx, cancel := context.WithTimeout(t.Context(), patient/3)
	defer cancel()
	_, err := w.Place(ctx, wish(c, 7, ""))
	require.NoError(t, err, "while the workers are busy")
	w.serve()
	s.atRest(t, c, 1)
}

// Near the end of a stock most attempts borrow. A transaction for each of them would take much longer.
func TestBatch_HomeShardIsEmpty_BorrowersShareTransactions(t *testing.T) {
	s := open(t)
	c := s.sell(t, 4*shards, 1)
	sizes := &transactionSizes{}
	w := s.crowd(t, sizes.into)
	var asked []*answer
	for user := int64(1); len(asked) < 12; user++ {
		if coupon.Home(user, shards) == 0 { // where there are four units
			asked = append(asked, w.ask(t.Context(), wish(c, user, "")))
		}
	}
	sizes.all = nil
	w.serve()
	for _, a := range asked {
		require.NoError(t, a.err)
	}
	require.Less(t, len(sizes.all), 1+6, "eight borrow after a batch of four: %v", sizes.all)
	s.atRest(t, c, 12)
}

// The row of the coupon is held, and a batch with its order would wait for it.
func TestPlace_RowOfTheCouponIsHeld_OrderGoesByItself(t *testing.T) {
	s := open(t)
	c := s.sell(t, shards, 1)
	for user, held := range map[int64]bool{1: false, 2: true} {
		var asked []order.ReserveRequest
		w := s.with(func(p *order.Deps) {
			p.Shards = asks{p.Shards, &asked}
			p.Committer = holds{p.Committer, held}
		})
		_, err := w.Place(t.Context(), wish(c, user, ""))
		require.NoError(t, err)
		require.Len(t, asked, 1)
		require.Equal(t, held, asked[0].Alone)
	}
}

// asks notes the requests for units.
type asks struct {
	order.Shards
	all *[]order.ReserveRequest
}

func (a asks) Reserve(ctx context.Context, requests []order.ReserveRequest) []order.Reservation {
	*a.all = append(*a.all, requests...)
	return a.Shards.Reserve(ctx, requests)
}

// holds is a committer whose rows another session holds, or none.
type holds struct {
	order.Committer
	held bool
}

func (h holds) Held(int64) bool { return h.held }
