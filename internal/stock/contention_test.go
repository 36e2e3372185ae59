package stock

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/order"
	"example.com/seckill/internal/platform/redisconn"
)

const (
	buyers  = 2000
	onSale  = 300
	runners = 64
)

// rush lets 64 runners serve 2000 users, each until the answer is final, and reads the shards at the same time.
// The caller's function handles each hold and returns whether its unit stays sold.
func rush(t *testing.T, s *shop, with func(ctx context.Context, n int64, h order.Hold) (sold bool, err error)) (sold int64) {
	t.Helper()
	var next, kept atomic.Int64
	var running sync.WaitGroup
	gate, failed := make(chan struct{}), make(chan error, runners)
	for range runners {
		running.Go(func() {
			<-gate
			for user := next.Add(1); user <= buyers; user = next.Add(1) {
				h, err := s.patient(t.Context(), user)
				if errors.Is(err, coupon.ErrSoldOut) {
					continue
				}
				stays := false
				if err == nil {
					stays, err = with(t.Context(), user, h)
				}
				if err != nil {
					failed <- err
					return
				}
				if stays {
					kept.Add(1)
				}
			}
		})
	}
	close(gate)
	done := make(chan struct{})
	go func() { running.Wait(); close(done) }()
	for {
		select {
		case <-done:
			close(failed)
			for err := range failed {
				require.NoError(t, err)
			}
			return kept.Load()
		default:
			s.counters(t)
		}
	}
}

// patient asks until the answer is not "busy", which a buyer may hear who lost
// all races.
func (s *shop) patient(ctx context.Context, user int64) (order.Hold, error) {
	for {
		h, err := reserve(ctx, s, s.claim(user, s.request()))
		if !errors.Is(err, order.ErrBusy) {
			return h, err
		}
	}
}

// counters says that no shard was ever below zero.
func (s *shop) counters(t *testing.T) {
	t.Helper()
	left, err := s.Remaining(t.Context(), s.load.CouponID, s.load.Shards)
	require.NoError(t, err)
	for _, units := range left {
		require.GreaterOrEqual(t, units, int64(0))
		require.LessOrEqual(t, units, int64(onSale))
	}
}

// totalScript counts the units of a shard and those that it holds.
const totalScript = `
local held = 0
for _, hold in ipairs(redis.call('HVALS', KEYS[2])) do
  if string.find(hold, ' ', 1, true) and string.sub(hold, 1, 4) ~= 'mark' then held = held + 1 end
end
return {tonumber(redis.call('GET', KEYS[1])), held}`

// total counts the units in the shards and the held units, each shard at one moment. A shard holds each unit that
// left its counter. So the sum is exact while no runner confirms.
func (s *shop) total(ctx context.Context) (left, held int64, err error) {
	for k := range s.load.Shards {
		of := tag(s.load.CouponID, k)
		both, err := s.client.Eval(ctx, totalScript, []string{of + "stock", of + "holds"}).Int64Slice()
		if err != nil {
			return left, held, err
		}
		left, held = left+both[0], held+both[1]
	}
	return left, held, nil
}

func TestReserve_ConcurrentBuyers_GetEachUnitOnce(t *testing.T) {
	somewhere(t, func(t *testing.T, o redisconn.Options) {
		s := open(t, dial(t, o), onSale, 8)
		seen := make(chan struct{})
		var watching sync.WaitGroup
		watching.Go(func() {
			for {
				select {
				case <-seen:
					return
				default:
				}
				// A hold is on the shard that its unit left, so R + h = T at any moment.
				if left, held, err := s.total(t.Context()); err != nil || left+held != onSale {
					t.Errorf("%d left and %d held of %d: %v", left, held, onSale, err)
					return
				}
			}
		})
		sold := rush(t, s, func(context.Context, int64, order.Hold) (bool, error) { return true, nil })
		close(seen)
		watching.Wait()
		require.Equal(t, int64(onSale), sold)
		left, held, err := s.total(t.Context())
		require.NoError(t, err)
		require.Zero(t, left)
		require.Equal(t, int64(onSale), held)
	})
}

func TestRelease_ConcurrentBuyers_LoseNoUnit(t *testing.T) {
	somewhere(t, func(t *testing.T, o redisconn.Options) {
		s := open(t, dial(t, o), onSale, 8)
		sold := rush(t, s, func(ctx context.Context, n int64, h order.Hold) (bool, error) {
			switch n % 4 {
			case 0:
				return false, release(ctx, s, h)
			case 1:
				return false, errors.Join(confirm(ctx, s, h), s.Restock(ctx, back(h)))
			case 2:
				return false, s.Restock(ctx, back(h)) // not confirmed before
			}
			return true, confirm(ctx, s, h)
		})
		left, held, err := s.total(t.Context())
		require.NoError(t, err)
		require.Zero(t, held)
		require.Equal(t, int64(onSale), left+sold)
		for shard := range 8 {
			open, err := s.client.HLen(t.Context(), tag(s.load.CouponID, shard)+"open").Result()
			require.NoError(t, err)
			require.EqualValues(t, 1, open, "nobody is left open, but for the mark")
		}
	})
}
