package store

import (
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/coupon"
)

func (s *subject) beat(t *testing.T, known coupon.Owner) coupon.Owner {
	t.Helper()
	now, err := s.Coupons().Heartbeat(t.Context(), known)
	require.NoError(t, err)
	return now
}

func (s *subject) epochs(t *testing.T) map[coupon.State]int64 {
	t.Helper()
	all, err := s.Coupons().List(t.Context(), 0, 10)
	require.NoError(t, err)
	epochs := map[coupon.State]int64{}
	for _, c := range all {
		epochs[c.State] = c.Epoch
		if c.Loading {
			epochs[c.State] *= -1
		}
	}
	return epochs
}

// inEveryState has a coupon of each state, in its third epoch.
func inEveryState(t *testing.T, s *subject) {
	t.Helper()
	for _, state := range []coupon.State{coupon.Draft, coupon.OnSale, coupon.Paused, coupon.Ended} {
		c := onSale(t, s, 10)
		epoch := 3
		if state == coupon.Draft {
			epoch = 0
		}
		raw(t, s, "UPDATE coupons SET state = ?, epoch = ? WHERE id = ?", state, epoch, c.ID)
	}
}

func TestHeartbeat_HistoryGoesOn_KeepsEpochs(t *testing.T) {
	onBoth(t, func(t *testing.T, s *subject) {
		inEveryState(t, s)
		before := s.epochs(t)
		known := coupon.Owner{}
		for range 3 {
			now := s.beat(t, known)
			require.NotEmpty(t, now.Deployment)
			require.NotEmpty(t, now.Server)
			require.Greater(t, now.Mark, known.Mark)
			if known.Deployment != "" {
				require.Equal(t, []string{known.Deployment, known.Server}, []string{now.Deployment, now.Server})
			}
			known = now
			known.Alive = true
		}
		s.beat(t, coupon.Owner{Deployment: known.Deployment, Server: known.Server, Mark: known.Mark - 1}) // of another instance
		s.beat(t, coupon.Owner{})                                                                         // Redis was emptied
		s.beat(t, coupon.Owner{Deployment: "another", Mark: 1 << 60})                                     // it was another's
		require.Equal(t, before, s.epochs(t))
	})
}

func TestHeartbeat_DatabaseRolledBackOrMoved_EndsEpochs(t *testing.T) {
	onBoth(t, func(t *testing.T, s *subject) {
		for name, happens := range map[string]func(known *coupon.Owner){
			"Redis knows a later mark": func(known *coupon.Owner) { known.Mark++ },
			"a much later one":         func(known *coupon.Owner) { known.Mark += 1 << 50 },
			"another server keeps it": func(*coupon.Owner) {
				raw(t, s, "UPDATE deployment SET server = 'db1'")
			},
		} {
			raw(t, s, "DELETE FROM coupons")
			inEveryState(t, s)
			known := s.beat(t, coupon.Owner{})
			known.Alive = true
			happens(&known)
			now := s.beat(t, known)
			require.Greater(t, now.Mark, known.Mark)
			require.Equal(t, map[coupon.State]int64{coupon.Draft: 0, coupon.OnSale: -4, coupon.Paused: -4, coupon.Ended: 3},
				s.epochs(t), name)
			s.beat(t, now)
			require.Equal(t, int64(-4), s.epochs(t)[coupon.OnSale], "once")
		}
	})
}

func TestHeartbeat_AnotherDatabaseAtWork_IsRefused(t *testing.T) {
	onBoth(t, func(t *testing.T, s *subject) {
		inEveryState(t, s)
		known := s.beat(t, coupon.Owner{})
		before := s.epochs(t)
		for _, other := range []coupon.Owner{
			{Deployment: "another", Server: known.Server, Alive: true},
			{Deployment: known.Deployment, Server: "a copy of it elsewhere", Mark: 1 << 60, Alive: true},
		} {
			_, err := s.Coupons().Heartbeat(t.Context(), other)
			require.ErrorIs(t, err, coupon.ErrOtherDeployment)
			require.ErrorContains(t, err, "redis.prefix")
			require.ErrorContains(t, err, other.Server)
			require.Equal(t, before, s.epochs(t))
		}
	})
}

func TestDatabaseID_EachDatabase_HasItsOwn(t *testing.T) {
	onBoth(t, func(t *testing.T, s *subject) {
		first := s.beat(t, coupon.Owner{}).Deployment
		_, err := s.Migrate(t.Context())
		require.NoError(t, err)
		require.Equal(t, first, s.beat(t, coupon.Owner{}).Deployment, "made once")
		require.NotEqual(t, first, onMariaDB(t).beat(t, coupon.Owner{}).Deployment)
	})
}
