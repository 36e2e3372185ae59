package metrics_test

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/lock"
	"example.com/seckill/internal/observe/metrics"
	"example.com/seckill/internal/order"
)

func TestThePulseKnowsTheLatencyOfTheLastSecondsAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := metrics.New()
		require.Zero(t, m.Live.P99(), "nothing was accepted")
		accept := func(n int, d time.Duration) {
			for range n {
				m.ObservePurchase(http.StatusCreated, "", d)
			}
		}
		accept(990, 2*time.Millisecond)
		accept(10, 80*time.Millisecond)
		require.InEpsilon(t, float64(2*time.Millisecond), float64(m.Live.P99()), 0.11, "99 of 100 were as fast")
		accept(20, 80*time.Millisecond)
		require.InEpsilon(t, float64(80*time.Millisecond), float64(m.Live.P99()), 0.11)
		for range 100 {
			m.ObservePurchase(http.StatusConflict, "sold_out", time.Hour)
		}
		require.Less(t, m.Live.P99(), time.Second, "a refusal is no order")

		time.Sleep(3 * time.Second)
		accept(1000, 300*time.Microsecond)
		require.Greater(t, m.Live.P99(), 70*time.Millisecond, "three seconds are not five")
		time.Sleep(3 * time.Second)
		require.Less(t, m.Live.P99(), time.Millisecond)
		time.Sleep(3 * time.Second)
		require.Zero(t, m.Live.P99())
		accept(1, time.Hour)
		require.Positive(t, m.Live.P99())
	})
}

// lender gives every unit from shard 2 of 4.
type lender struct{ steps }

func (l lender) Reserve(_ context.Context, c order.ReserveRequest) (order.Hold, error) {
	return order.Hold{CouponID: c.CouponID, Shards: 4, Shard: 2}, l.err
}

func TestThePulseCountsWhatIsLentAndWhoHoldsALock(t *testing.T) {
	m := metrics.New()
	home := func(userID int64, shards int) int { return int(userID) % shards }
	stock, locker := m.Live.Instrument(lender{}, steps{}, home)
	for user := range int64(8) {
		_, err := stock.Reserve(t.Context(), order.ReserveRequest{CouponID: 1, UserID: user})
		require.NoError(t, err)
	}
	require.Equal(t, []int64{0, 0, 6, 0}, m.Live.Lent(1, 4), "users 2 and 6 are at home there")
	require.Equal(t, []int64{0, 0}, m.Live.Lent(2, 2))
	refused, _ := m.Live.Instrument(lender{steps{errAway}}, steps{}, home)
	_, err := refused.Reserve(t.Context(), order.ReserveRequest{CouponID: 1})
	require.ErrorIs(t, err, errAway)
	require.Equal(t, []int64{0, 0, 6, 0}, m.Live.Lent(1, 4))

	err = locker.Do(t.Context(), "k", func(context.Context, *lock.Lease) error {
		held, waiting := m.Live.Locks()
		require.Equal(t, int64(1), held)
		require.Zero(t, waiting)
		return errors.New("the work failed")
	}, lock.WithWait(0))
	require.Error(t, err)
	held, waiting := m.Live.Locks()
	require.Zero(t, held)
	require.Zero(t, waiting)

	_, never := m.Live.Instrument(lender{}, nobody{}, home)
	require.ErrorIs(t, never.Do(t.Context(), "k", nil), lock.ErrNotAcquired)
	_, waiting = m.Live.Locks()
	require.Zero(t, waiting, "who gave up waits no more")
}

// nobody is let in.
type nobody struct{ steps }

func (nobody) Do(context.Context, string, func(context.Context, *lock.Lease) error, ...lock.Option) error {
	return lock.ErrNotAcquired
}
