package stock

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/order"
	"example.com/seckill/internal/platform/redisconn"
)

// anHour sets a cooldown of an hour.
func anHour(o *Options) { o.Cooldown = time.Hour }

// rests returns what is left of the user's cooldown; 0 if a unit was taken.
func (s *shop) rests(user int64) time.Duration {
	s.t.Helper()
	err := s.try(user)
	if err == nil {
		return 0
	}
	var rest *order.CooldownError
	require.ErrorAs(s.t, err, &rest)
	require.ErrorIs(s.t, err, order.ErrCooldown)
	return rest.Remaining
}

// gaveBack returns a user at home in a shard, whose unit has come back.
func (s *shop) gaveBack(shard, n int) (order.Hold, int64) {
	s.t.Helper()
	h := s.buy(s.at(shard, n))
	require.NoError(s.t, confirm(s.t.Context(), s, h))
	require.NoError(s.t, s.Restock(s.t.Context(), back(h)))
	return h, h.UserID
}

func TestCooldown_UnitGivenBack_RejectsUserUntilEnd(t *testing.T) {
	everywhere(t, func(t *testing.T, o redisconn.Options) {
		s := open(t, dial(t, o), 8, 2, anHour)
		s.limit = 2
		h, user := s.gaveBack(1, 0)
		left := s.rests(user)
		require.Greater(t, left, 59*time.Minute)
		require.LessOrEqual(t, left, time.Hour)
		s.wants(0, 4, 4)
		require.Empty(t, s.field(1, "open", user), "who was refused left nothing")

		got := s.Reserve(t.Context(), []order.ReserveRequest{s.claim(user, s.request()), s.claim(s.at(1, 1), s.request())})
		require.ErrorIs(t, got[0].Err, order.ErrCooldown, "in a batch too")
		require.NoError(t, got[1].Err, "and no other with it")
		again := s.claim(user, h.RequestID)
		_, err := reserve(t.Context(), s, again)
		require.ErrorIs(t, err, order.ErrDuplicate, "the request of old is still known")
		s.buy(s.at(0, 0))

		require.NoError(t, s.Restock(t.Context(), back(h))) // repeated: it begins once
		meta, field := tag(s.load.CouponID, 1)+"meta", "cool:"+strconv.FormatInt(user, 10)
		require.NoError(t, s.client.HSet(t.Context(), meta, field, "1").Err(), "as long after it as you like")
		require.Zero(t, s.rests(user), "it is over")
		require.False(t, s.client.HExists(t.Context(), meta, field).Val(), "and nothing is kept of it")
	})
}

func TestCooldown_HomeEmpty_StillHolds(t *testing.T) {
	everywhere(t, func(t *testing.T, o redisconn.Options) {
		s := open(t, dial(t, o), 4, 4, anHour) // one each
		_, user := s.gaveBack(2, 0)
		s.buy(s.at(2, 1)) // the home is empty, and a sibling would lend
		require.Positive(t, s.rests(user))
		s.wants(1, 1, 1, 0, 1)
	})
}

func TestCooldown_Loading_EndsIt(t *testing.T) {
	everywhere(t, func(t *testing.T, o redisconn.Options) {
		s := open(t, dial(t, o), 8, 2, anHour)
		_, user := s.gaveBack(1, 0)
		require.Positive(t, s.rests(user))
		s.load.Epoch++
		require.NoError(t, s.Load(t.Context(), s.load))
		require.Zero(t, s.rests(user))
	})
}

func TestCooldown_NotConfigured_StoresNothing(t *testing.T) {
	everywhere(t, func(t *testing.T, o redisconn.Options) {
		s := open(t, dial(t, o), 8, 2)
		_, user := s.gaveBack(1, 0)
		require.False(t, s.client.HExists(t.Context(), tag(s.load.CouponID, 1)+"meta", "cools").Val())
		require.Zero(t, s.rests(user))
	})
}
