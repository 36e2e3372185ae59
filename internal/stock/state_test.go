package stock

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/order"
	"example.com/seckill/internal/testing/testservers"
)

const (
	modelUnits = 7
	modelUsers = 5
)

// machine does the same to the shards and to the model.
type machine struct {
	s      *shop
	m      *model
	claims []order.ReserveRequest // made so far; a repeated one is the same attempt
	given  []order.Hold           // all that were ever given, of any epoch
}

func (x *machine) reserve(t *rapid.T) {
	user := rapid.Int64Range(1, modelUsers).Draw(t, "user")
	// Few requests, so that attempts meet; a request is of one user.
	request := rapid.StringMatching(`[a-c]`).Draw(t, "request") + string(rune('0'+user))
	c := x.s.claim(user, request)
	if len(x.claims) > 0 && rapid.Bool().Draw(t, "the same attempt") {
		c = rapid.SampledFrom(x.claims).Draw(t, "claim")
	}
	x.claims = append(x.claims, c)
	want, refusal := x.m.reserve(c)
	got, err := reserve(t.Context(), x.s, c)
	sameOutcome(t, refusal, err)
	require.Equal(t, want, got)
	if err == nil {
		x.given = append(x.given, got)
	}
}

// any draws a hold of any age and outcome, if there is one. An order id that was reserved again after its hold had
// ended may have its unit from another shard. Then no attempt has the older hold. An id belongs to one attempt,
// which asks for the same unit until it has it.
func (x *machine) any(t *rapid.T) (order.Hold, bool) {
	had := slices.DeleteFunc(slices.Clone(x.given), func(h order.Hold) bool {
		now, open := x.m.holds[h.OrderID]
		return open && now.Shard != h.Shard
	})
	if len(had) == 0 {
		return order.Hold{}, false
	}
	return rapid.SampledFrom(had).Draw(t, "hold"), true
}

func (x *machine) confirm(t *rapid.T) {
	if h, ok := x.any(t); ok {
		x.m.confirm(h)
		require.NoError(t, confirm(t.Context(), x.s, h))
	}
}

func (x *machine) release(t *rapid.T) {
	h, ok := x.any(t)
	if !ok {
		return
	}
	if rapid.Bool().Draw(t, "all shares") {
		h.Attempt = 0
	}
	x.m.release(h)
	require.NoError(t, release(t.Context(), x.s, h))
}

// restock returns an order that was sold, in any epoch since, or returned before: the
// database gives nothing else back.
func (x *machine) restock(t *rapid.T) {
	h, ok := x.any(t)
	if _, sold := x.m.sold[h.OrderID]; !ok || !sold && !x.m.returned[h.OrderID] {
		return
	}
	r := back(h)
	r.Epoch = x.m.epoch
	x.m.restock(r)
	require.NoError(t, x.s.Restock(t.Context(), r))
}

// raise adds units, or repeats a call that added the same number or fewer.
func (x *machine) raise(t *rapid.T) {
	raised := rapid.Int64Range(0, x.m.raised+3).Draw(t, "raised")
	x.m.raise(raised)
	require.NoError(t, x.s.raise(t.Context(), raised))
}

// reload loads the unsold units under a newer epoch, and tries an older one.
func (x *machine) reload(t *rapid.T) {
	l := coupon.Load{
		CouponID: x.s.load.CouponID, Epoch: x.m.epoch + 1, Shards: x.s.load.Shards,
		Units: x.m.put - int64(len(x.m.sold)),
	}
	counts := map[int64]int{}
	for user, n := range x.m.bought {
		if n > 0 {
			counts[user] = n
		}
	}
	l.Buyers = bought(counts)
	require.NoError(t, x.s.Load(t.Context(), l))
	require.NoError(t, x.s.Load(t.Context(), l), "twice is once")
	x.m.reload(l.Epoch, l.Units)
	older := l
	older.Epoch, older.Units = l.Epoch-1, 1000
	require.ErrorIs(t, x.s.Load(t.Context(), older), coupon.ErrConflict)
	x.s.load = l
}

// check compares everything after every step.
func (x *machine) check(t *rapid.T) {
	require.Equal(t, x.m.put, x.m.total(), "T = R + h + A")
	ctx, id := t.Context(), x.s.load.CouponID
	shards, err := x.s.ReadShards(ctx, id, x.s.load.Shards)
	require.NoError(t, err)
	held := map[int64]bool{}
	for k, shard := range shards {
		require.Equal(t, x.m.units[k], shard.Units, "units of shard %d", k)
		for _, h := range x.s.held(k, len(shards)) {
			if !h.Unit {
				continue
			}
			held[h.OrderID] = true
			require.NotNil(t, x.m.holds[h.OrderID], "hold of order %d", h.OrderID)
			require.Equal(t, x.m.holds[h.OrderID].Shard, k)
		}
		for hash, want := range map[string]map[string]string{
			"open": x.m.counts(x.m.open, k), "buyers": x.m.counts(x.m.bought, k),
		} {
			got, err := x.s.client.HGetAll(ctx, tag(id, k)+hash).Result()
			require.NoError(t, err)
			delete(got, sentinelField)
			require.Equal(t, want, got, "%s of shard %d", hash, k)
		}
	}
	require.Len(t, held, len(x.m.holds))
}

func TestScripts_AnySequence_MatchTheModel(t *testing.T) {
	client := dial(t, backends["a server"](t))
	testservers.Checks(t, 40)
	rapid.Check(t, func(r *rapid.T) {
		shards := rapid.IntRange(1, 3).Draw(r, "shards")
		s := open(t, client, modelUnits, shards)
		s.limit = rapid.IntRange(1, 3).Draw(r, "limit")
		x := &machine{s: s, m: newModel(modelUnits, shards, s.limit)}
		r.Repeat(map[string]func(*rapid.T){
			"reserve": x.reserve, "reserve again": x.reserve, "confirm": x.confirm, "release": x.release,
			"return": x.restock, "raise": x.raise, "reload": x.reload, "": x.check,
		})
	})
}
