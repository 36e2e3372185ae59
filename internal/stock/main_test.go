package stock

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/order"
	"example.com/seckill/internal/platform/embedded"
	"example.com/seckill/internal/platform/redisconn"
	"example.com/seckill/internal/testing/testservers"
)

func TestMain(m *testing.M) { testservers.Main(m) }

// backends are the kinds of Redis on which the scripts have to be right.
var backends = map[string]func(t testing.TB) redisconn.Options{
	"a server": func(t testing.TB) redisconn.Options {
		return redisconn.Options{Addrs: []string{testservers.Redis(t).Addr()}}
	},
	"the embedded server": func(t testing.TB) redisconn.Options {
		s, err := embedded.Start(context.Background())
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, s.Close()) })
		return redisconn.Options{Addrs: []string{s.RedisAddr()}}
	},
	"a cluster": func(t testing.TB) redisconn.Options {
		return redisconn.Options{Mode: redisconn.Cluster, Addrs: testservers.Cluster(t).Addrs()}
	},
}

// everywhere runs a test on every backend.
func everywhere(t *testing.T, test func(t *testing.T, o redisconn.Options)) {
	for name, backend := range backends {
		t.Run(name, func(t *testing.T) { test(t, backend(t)) })
	}
}

// somewhere is everywhere, but for one of the backends that is drawn, for crowds.
func somewhere(t *testing.T, test func(t *testing.T, o redisconn.Options)) {
	for _, name := range testservers.Sample(t, len(backends)-1, slices.Sorted(maps.Keys(backends))) {
		t.Run(name, func(t *testing.T) { test(t, backends[name](t)) })
	}
}

// patience is how long a call to Redis may take here. It is longer than in production, because
// the machine that runs the tests may be slow.
const patience = 5 * time.Second

// dial opens a client that ends with the test.
func dial(t testing.TB, o redisconn.Options) redis.UniversalClient {
	t.Helper()
	if o.Timeout == 0 {
		o.Timeout = patience
	}
	c, err := redisconn.Open(context.Background(), o)
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// tag and unresolvedKey are names under the default prefix.
func tag(couponID int64, shard int) string { return usual.tag(couponID, shard) }
func ticketKey(orderID int64) string       { return usual.unresolvedKey(orderID) }

var usual = New(nil, Options{})

// lastID makes coupons and orders of different tests different.
var lastID atomic.Int64

// shop is one coupon's stock under test.
type shop struct {
	t      testing.TB
	client redis.UniversalClient
	*Stock
	load  coupon.Load
	limit int
	had   []order.Hold // that were bought
}

// longFlag is so long that no flag falls by itself in a test.
const longFlag = time.Hour

// open opens a new coupon with units over shards, one per user. set changes the options of its Stock.
func open(t testing.TB, client redis.UniversalClient, units int64, shards int, set ...func(*Options)) *shop {
	t.Helper()
	s := closed(t, client, units, shards, set...)
	require.NoError(t, s.Load(t.Context(), s.load))
	return s
}

// closed is open before the load.
func closed(t testing.TB, client redis.UniversalClient, units int64, shards int, set ...func(*Options)) *shop {
	l := coupon.Load{CouponID: lastID.Add(1), Epoch: 1, Shards: shards, Units: units}
	o := Options{RefusalTTL: longFlag}
	for _, change := range set {
		change(&o)
	}
	s := New(client, o)
	s.unmarkTimeout = patience
	return &shop{t: t, client: client, Stock: s, load: l, limit: 1}
}

// claim is a new attempt of the user's request.
func (s *shop) claim(user int64, request string) order.ReserveRequest {
	return order.ReserveRequest{
		CouponID: s.load.CouponID, UserID: user, RequestID: request, OrderID: lastID.Add(1),
		Limit: s.limit, Epoch: s.load.Epoch, Shards: s.load.Shards,
	}
}

// at is the n-th user, from 0, whose home is the shard.
func (s *shop) at(shard, n int) int64 {
	for user := int64(1); ; user++ {
		if coupon.Home(user, s.load.Shards) != shard {
			continue
		}
		if n--; n < 0 {
			return user
		}
	}
}

// buy reserves for a new request of the user, which must succeed.
func (s *shop) buy(user int64) order.Hold {
	s.t.Helper()
	h, err := reserve(s.t.Context(), s, s.claim(user, s.request()))
	require.NoError(s.t, err)
	s.had = append(s.had, h)
	return h
}

func (s *shop) request() string { return "r" + strconv.FormatInt(lastID.Add(1), 10) }

// try reserves for a new request of the user and gives the refusal.
func (s *shop) try(user int64) error {
	s.t.Helper()
	_, err := reserve(s.t.Context(), s, s.claim(user, s.request()))
	return err
}

// reserve takes a unit for a request that goes by itself.
func reserve(ctx context.Context, s order.Shards, c order.ReserveRequest) (order.Hold, error) {
	c.Alone = true
	got := s.Reserve(ctx, []order.ReserveRequest{c})[0]
	return got.Hold, got.Err
}

// confirm confirms one hold.
func confirm(ctx context.Context, s order.Shards, h order.Hold) error {
	return s.Confirm(ctx, []order.Hold{h})[0]
}

// release releases one hold.
func release(ctx context.Context, s order.Shards, h order.Hold) error {
	return s.Release(ctx, []order.Hold{h})[0]
}

// back is the return of a confirmed hold's unit.
func back(h order.Hold) order.Restock {
	return order.Restock{OrderID: h.OrderID, CouponID: h.CouponID, UserID: h.UserID, Shard: h.Shard, Epoch: h.Epoch, Shards: h.Shards}
}

// open lists the holds of all shards.
func (s *shop) openHolds(shards int) (all []order.Hold) {
	s.t.Helper()
	for k := range shards {
		for _, h := range s.held(k, shards) {
			all = append(all, h.Hold)
		}
	}
	return all
}

func (s *shop) held(shard, shards int) (all []Held) {
	s.t.Helper()
	for h, err := range s.OpenHolds(s.t.Context(), s.load.CouponID, shard, shards) {
		require.NoError(s.t, err)
		all = append(all, h)
	}
	return all
}

// wants checks what the shards hold: the units in each, and the open units.
func (s *shop) wants(held int, units ...int64) {
	s.t.Helper()
	all, err := s.ReadShards(s.t.Context(), s.load.CouponID, s.load.Shards)
	require.NoError(s.t, err)
	var left []int64
	open := 0
	for k, shard := range all {
		left = append(left, shard.Units)
		for _, h := range s.held(k, len(all)) {
			if h.Unit {
				open++
			}
		}
	}
	require.Equal(s.t, units, left, "units left in each shard")
	require.Equal(s.t, held, open, "units held")
}

// field reads a user's entry of a shard's hash.
func (s *shop) field(shard int, hash string, field int64) string {
	s.t.Helper()
	v, err := s.client.HGet(s.t.Context(), tag(s.load.CouponID, shard)+hash, strconv.FormatInt(field, 10)).Result()
	if err != redis.Nil { //nolint:errorlint // as the client gives it
		require.NoError(s.t, err)
	}
	return v
}
