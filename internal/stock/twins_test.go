package stock

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/order"
	"example.com/seckill/internal/testing/testservers"
)

// twins is two shards' worth of the same coupon, under two prefixes of one Redis.
type twins struct {
	many, one *shop
	asked     []order.ReserveRequest
	given     []order.Hold
}

// ask reserves many at once, and for each alone what the batch leaves alone; and the same one
// after the other.
func (x *twins) ask(t *rapid.T) {
	var all []order.ReserveRequest
	for range rapid.IntRange(1, 9).Draw(t, "members") {
		user := rapid.Int64Range(1, modelUsers).Draw(t, "user")
		c := x.many.claim(user, rapid.StringMatching(`[a-c]`).Draw(t, "request")+strconv.Itoa(int(user)))
		if len(x.asked) > 0 && rapid.IntRange(0, 3).Draw(t, "again") == 0 {
			c = rapid.SampledFrom(x.asked).Draw(t, "as before")
		}
		if rapid.IntRange(0, 9).Draw(t, "epoch") == 0 {
			c.Epoch++
		}
		if x.many.load.Units%2 == 0 { // this sale has queues
			c.Enqueue, c.QueueCapacity, c.QueueMaxAge = &order.Order{ID: c.OrderID, UserID: user, RequestID: c.RequestID}, 3, time.Second
		}
		all, x.asked = append(all, c), append(x.asked, c)
	}
	got := x.many.Reserve(t.Context(), all)
	alone := func(i int) bool {
		return errors.Is(got[i].Err, order.ErrFallback) || errors.Is(got[i].Err, coupon.ErrSoldOut)
	}
	one := func(i int) {
		want, err := reserve(t.Context(), x.one, all[i])
		require.Equal(t, want, got[i].Hold, "member %d of %v", i, all)
		for _, e := range []error{
			order.ErrUnavailable, order.ErrStaleEpoch, order.ErrDuplicate, order.ErrBusy, order.ErrLimitReached, order.ErrOverloaded, coupon.ErrSoldOut,
		} {
			require.Equal(t, errors.Is(err, e), errors.Is(got[i].Err, e), "%v and alone %v", got[i].Err, err)
		}
	}
	for i := range all {
		if !alone(i) {
			one(i)
		}
	}
	for i := range all {
		if alone(i) {
			if errors.Is(got[i].Err, order.ErrFallback) {
				got[i].Hold, got[i].Err = reserve(t.Context(), x.many, all[i])
			}
			one(i)
		}
		if got[i].Err == nil {
			x.given = append(x.given, got[i].Hold)
		}
	}
}

// end confirms or releases some holds that were given, whatever has become of them.
func (x *twins) end(t *rapid.T, many, one func(context.Context, []order.Hold) []error) {
	if len(x.given) == 0 {
		return
	}
	some := rapid.SliceOfN(rapid.SampledFrom(x.given), 1, 5).Draw(t, "holds")
	for i, err := range many(t.Context(), some) {
		require.NoError(t, err)
		require.NoError(t, one(t.Context(), some[i:i+1])[0])
	}
}

func (x *twins) confirm(t *rapid.T) { x.end(t, x.many.Confirm, x.one.Confirm) }

func (x *twins) release(t *rapid.T) { x.end(t, x.many.Release, x.one.Release) }

func (x *twins) check(t *rapid.T) {
	for shard := range x.one.load.Shards {
		require.Equal(t, x.one.dump(t, shard), x.many.dump(t, shard), "shard %d", shard)
	}
}

// moment is a time in milliseconds, which is different in two runs.
var moment = regexp.MustCompile(`\b1\d{12}\b`)

// dump is all that a shard has, without the times.
func (s *shop) dump(t require.TestingT, shard int) map[string]string {
	ctx, all := s.t.Context(), map[string]string{}
	for _, key := range s.keys(s.load.CouponID, shard, len(keySuffixes)) {
		var value any
		var err error
		switch suffix := key[strings.LastIndex(key, ":")+1:]; suffix {
		case "stock":
			value, err = s.client.Get(ctx, key).Result()
		case "returned":
			value, err = s.client.SMembers(ctx, key).Result()
		case "ages": // the times are those of the holds
			var orders []string
			orders, err = s.client.ZRange(ctx, key, 0, -1).Result()
			slices.Sort(orders)
			value = orders
		case "queue", "dead":
			var entries []redis.XMessage
			entries, err = s.client.XRange(ctx, key, "-", "+").Result()
			for i := range entries {
				entries[i].ID = ""
			}
			value = entries
		default:
			value, err = s.client.HGetAll(ctx, key).Result()
		}
		require.NoError(t, err)
		all[key[len(s.prefix):]] = moment.ReplaceAllString(fmt.Sprint(value), "then")
	}
	return all
}

func TestBatch_AnyMembers_EqualsIndividualCalls(t *testing.T) {
	clients := map[string]redis.UniversalClient{}
	for name, backend := range backends {
		clients[name] = dial(t, backend(t))
	}
	testservers.Checks(t, 20)
	rapid.Check(t, func(r *rapid.T) {
		client := clients[rapid.SampledFrom(slices.Sorted(maps.Keys(clients))).Draw(r, "backend")]
		x := &twins{many: closed(t, client, rapid.Int64Range(1, 9).Draw(r, "units"), rapid.IntRange(1, 3).Draw(r, "shards"))}
		x.many.limit = rapid.IntRange(1, 3).Draw(r, "limit")
		one := *x.many
		one.Stock = New(client, Options{RefusalTTL: longFlag, Prefix: "one:"})
		x.one = &one
		require.NoError(r, x.many.Load(t.Context(), x.many.load))
		require.NoError(r, x.one.Load(t.Context(), x.one.load))
		r.Repeat(map[string]func(*rapid.T){
			"reserve": x.ask, "reserve more": x.ask, "confirm": x.confirm, "release": x.release, "": x.check,
		})
	})
}
