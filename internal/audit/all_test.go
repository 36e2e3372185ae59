package audit_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/audit"
	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/testing/apptest"
)

// slowAudits take a second each. The audit of coupon 3 takes two, coupon 5 fails, and coupon 6 is not clean.
type slowAudits struct{ running, most atomic.Int64 }

func (s *slowAudits) audit(ctx context.Context, id int64) (audit.Report, error) {
	s.most.Store(max(s.most.Load(), s.running.Add(1)))
	defer s.running.Add(-1)
	takes := time.Second
	if id == 3 {
		takes *= 2
	}
	select {
	case <-time.After(takes):
	case <-ctx.Done():
		return audit.Report{}, ctx.Err()
	}
	if id == 5 {
		return audit.Report{}, errors.New("no answer")
	}
	return audit.Report{CouponID: audit.ID(id), Clean: id != 6}, nil
}

func TestAll_ManyCoupons_AuditsSomeAtOnceAndPrintsInOrder(t *testing.T) {
	ids := []int64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}
	printed := func(t *testing.T, atOnce int) (text string, took time.Duration) {
		var s slowAudits
		var out bytes.Buffer
		began := time.Now()
		clean, err := audit.All(t.Context(), &out, ids, atOnce, s.audit, true)
		require.False(t, clean)
		require.EqualError(t, err, "coupon 5 was not audited: no answer")
		require.EqualValues(t, atOnce, s.most.Load())
		return out.String(), time.Since(began)
	}
	synctest.Test(t, func(t *testing.T) {
		one, took := printed(t, 1)
		require.Equal(t, 11*time.Second, took)
		require.Equal(t, 9, strings.Count(one, "\n"))
		some, took := printed(t, audit.AtOnce)
		require.Equal(t, one, some)
		require.LessOrEqual(t, took, 7*time.Second)
	})
}

func TestAll_ContextEnds_WaitsForNoAudit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
		defer cancel()
		var s slowAudits
		began := time.Now()
		clean, err := audit.All(ctx, new(bytes.Buffer), []int64{1, 2, 3, 4, 5, 6}, 2, s.audit, true)
		require.False(t, clean)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, 1500*time.Millisecond, time.Since(began))
		require.Zero(t, s.running.Load())
	})
}

// failing is an output that nothing can be written to.
type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errors.New("no space left") }

func TestAll_OutputFails_EndsTheOtherAuditsFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s slowAudits
		began := time.Now()
		_, err := audit.All(t.Context(), failing{}, []int64{1, 3, 2}, 2, s.audit, true)
		require.ErrorContains(t, err, "no space left")
		require.Equal(t, time.Second, time.Since(began))
		require.Zero(t, s.running.Load())
	})
}

// roundTrips counts what a client sends.
type roundTrips struct{ n atomic.Int64 }

func (r *roundTrips) DialHook(next redis.DialHook) redis.DialHook { return next }

func (r *roundTrips) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		r.n.Add(1)
		return next(ctx, cmd)
	}
}

func (r *roundTrips) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		r.n.Add(1)
		return next(ctx, cmds)
	}
}

func TestAudit_SaleAtRest_ReadsNoShardByItself(t *testing.T) {
	s := in(apptest.Open(t))
	c := s.sell(t, 10)
	for user := range int64(5) {
		s.buy(t, c, user)
	}
	var trips roundTrips
	s.redis.AddHook(&trips)
	r := s.audited(t, c)
	require.True(t, r.Clean && r.Settled)
	require.EqualValues(t, 4, trips.n.Load(), "the shards twice, and in two steps what they know of the orders")
}

func TestAll_UnknownCoupon_SaysThatItIsNotInTheDatabase(t *testing.T) {
	t.Parallel()
	unknown := func(context.Context, int64) (audit.Report, error) { return audit.Report{}, coupon.ErrNotFound }
	_, err := audit.All(t.Context(), new(bytes.Buffer), []int64{9}, 1, unknown, false)
	require.EqualError(t, err, "coupon 9 is not in the database")
}
