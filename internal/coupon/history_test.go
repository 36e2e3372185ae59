package coupon_test

import (
	"context"
	"database/sql"
	"testing"
	"time"

	_ "github.com/go-sql-driver/mysql" // for what happens behind the store's back
	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/testing/apptest"
	"example.com/seckill/internal/testing/testservers"
)

// silent makes whoever was at work on this Redis be so no more, as time would.
func (s *shop) silent(t *testing.T) {
	t.Helper()
	require.NoError(t, s.redis.HSet(t.Context(), "seckill:{fleet}:owner", "at", 0).Err())
}

// Whatever the database's past is: what is on sale in the end is what its rows say.
func TestRestore_OtherHistoryThanRedis_LoadsAnew(t *testing.T) {
	for name, replaced := range map[string]func(t *testing.T, s *shop, raw *sql.DB) *shop{
		"made anew": func(t *testing.T, s *shop, _ *sql.DB) *shop {
			s.silent(t)
			other := open(t, apptest.MySQL(t), s.redisAddr)
			require.Equal(t, int64(1), other.published(t, 10).ID, "the same id")
			return other
		},
		"set back to before the sales of the same epoch": func(t *testing.T, s *shop, raw *sql.DB) *shop {
			exec(t, raw, "DELETE FROM orders", "UPDATE coupons SET stock = total", "UPDATE deployment SET mark = 1")
			return s
		},
		"a promoted replica that lacks the last sales": func(t *testing.T, s *shop, raw *sql.DB) *shop {
			s.silent(t)
			exec(t, raw, "DELETE FROM orders WHERE user_id = 3", "UPDATE coupons SET stock = stock + 1", "UPDATE deployment SET server = 'db1'")
			return s
		},
	} {
		t.Run(name, func(t *testing.T) {
			migrated := apptest.MySQL(t)
			s := open(t, migrated, testservers.NewRedis(t).Addr())
			raw, err := sql.Open("mysql", migrated.MySQL)
			require.NoError(t, err)
			defer raw.Close() //nolint:errcheck // the test is over
			c := s.published(t, 10)
			for user := int64(1); user <= 3; user++ {
				require.NoError(t, s.buy(t.Context(), c, user, user))
			}
			for range 2 {
				require.NoError(t, s.Heartbeat(t.Context()), "it goes on for a while")
			}
			s = replaced(t, s, raw)
			stop := s.watching(t, 1, unaltered)
			defer stop()
			require.Eventually(t, func() bool {
				now := s.now(t, c.ID)
				loaded, err := s.stock.Loaded(t.Context(), c.ID, now.Epoch, now.Shards)
				return err == nil && loaded && !now.Loading && s.loaded(t, c.ID) == now.Left
			}, 10*time.Second, 10*time.Millisecond, "R = D")
			stop()
			now := s.now(t, c.ID)
			sold := s.balanced(t, c.ID)
			for id := int64(100); s.buy(t.Context(), now, id, id) == nil; id++ {
				sold++
			}
			require.Equal(t, int64(10), sold)
			require.Equal(t, int64(10), s.balanced(t, c.ID), "every unit is sold, once")
		})
	}
}

func exec(t *testing.T, raw *sql.DB, statements ...string) {
	t.Helper()
	for _, one := range statements {
		_, err := raw.ExecContext(t.Context(), one)
		require.NoError(t, err, one)
	}
}

func TestHeartbeat_SecondDeployment_IsRefusedByName(t *testing.T) {
	r := testservers.NewRedis(t)
	first := open(t, apptest.MySQL(t), r.Addr())
	c := first.published(t, 10)
	second := open(t, apptest.MySQL(t), r.Addr())
	draft := second.drafted(t, 80)
	require.Equal(t, c.ID, draft.ID)
	_, err := second.Publish(t.Context(), draft.ID)
	require.ErrorIs(t, err, coupon.ErrOtherDeployment)
	require.ErrorContains(t, err, "redis.prefix")
	require.Equal(t, coupon.Draft, second.now(t, draft.ID).State)

	told := make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		second.RunRestorer(ctx, time.Millisecond, func(_ int, err error) {
			select {
			case told <- err:
			default:
			}
		})
	}()
	require.ErrorIs(t, <-told, coupon.ErrOtherDeployment)
	cancel()
	<-done
	require.NoError(t, first.buy(t.Context(), c, 1, 1))
	require.Equal(t, int64(1), first.balanced(t, c.ID), "the first sells on")

	second.useStock("second:")
	published, err := second.Publish(t.Context(), draft.ID)
	require.NoError(t, err)
	require.NoError(t, second.buy(t.Context(), published, 1, 1))
	require.Equal(t, int64(1), second.balanced(t, draft.ID))
	require.Equal(t, int64(1), first.balanced(t, c.ID))
}
