package app

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// counter counts the unpaid orders of one coupon.
type counter struct {
	mu    sync.Mutex // between the test, which sets what follows, and the counting
	asked int
	n     int64
	takes time.Duration
	err   error
}

func (c *counter) count(context.Context, int64) (int64, time.Time, error) {
	c.mu.Lock()
	c.asked++
	takes, n, err := c.takes, c.n, c.err
	c.mu.Unlock()
	time.Sleep(takes) // of the bubble's clock
	return n, time.Unix(2000, 0), err
}

func (c *counter) set(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f()
}

func TestUnpaidCounts_Watched_AreReadFromDatabase(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &counter{n: 3}
		u := newUnpaidOrders(c.count, slog.New(slog.DiscardHandler))
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); u.run(ctx) }()
		pass := func(d time.Duration) { time.Sleep(d); synctest.Wait() }

		pass(10 * unpaidEvery)
		require.Zero(t, c.asked, "nobody has asked")
		_ = u.Unpaid(7) // they may be counted before it returns
		synctest.Wait()
		require.Equal(t, 1, c.asked, "the first who asks has them counted at once")
		require.Equal(t, int64(3), u.Unpaid(7).Unpaid)
		require.Equal(t, time.Unix(2000, 0).UTC(), u.Unpaid(7).Until)

		c.set(func() { c.n = 2 })
		for range 100 {
			_ = u.Unpaid(7)
		}
		pass(unpaidEvery)
		require.Equal(t, 2, c.asked, "however many ask, once a second")
		require.Equal(t, int64(2), u.Unpaid(7).Unpaid)
		pass(10 * unpaidEvery)
		require.Equal(t, 3, c.asked, "nobody asks any more")
		pass(unpaidKept)
		_, known := u.news.Load(int64(7))
		require.False(t, known, "and they are forgotten")
		_ = u.Unpaid(7)
		synctest.Wait()

		c.set(func() { c.err = errors.New("the database is away") })
		for last := time.Now(); ; pass(unpaidEvery) {
			told := u.Unpaid(7)
			if told == nil {
				require.GreaterOrEqual(t, time.Since(last), unpaidKept)
				require.LessOrEqual(t, time.Since(last), unpaidKept+3*unpaidEvery)
				break
			}
			require.Less(t, time.Since(last), unpaidKept+3*unpaidEvery, "what is old is not told")
		}

		c.set(func() { c.err, c.takes, c.asked = nil, time.Second, 0 })
		for range 42 {
			_ = u.Unpaid(7)
			pass(unpaidEvery)
		}
		require.LessOrEqual(t, c.asked, 3, "a count that takes long is made seldom")
		require.GreaterOrEqual(t, c.asked, 2)
		stop()
		<-done
	})
}
