package stock

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/order"
	"example.com/seckill/internal/platform/redisconn"
)

func TestShard_Holds_AreListed(t *testing.T) {
	everywhere(t, func(t *testing.T, o redisconn.Options) {
		s := closed(t, dial(t, o), 3, 2) // 2, 1
		shards, err := s.ReadShards(t.Context(), s.load.CouponID, 2)
		require.NoError(t, err)
		require.Equal(t, []Shard{{}, {}}, shards, "nothing is there")
		require.Empty(t, s.openHolds(2))

		require.NoError(t, s.Load(t.Context(), s.load))
		s.buy(s.at(1, 0))
		c := s.claim(s.at(1, 1), "lent")
		_, err = reserve(t.Context(), s, c)
		require.NoError(t, err)
		sold := s.buy(s.at(0, 1))
		require.NoError(t, confirm(t.Context(), s, sold))
		shards, err = s.ReadShards(t.Context(), s.load.CouponID, 2)
		require.NoError(t, err)
		require.Positive(t, shards[0].Ops)
		shards[0].Ops = 0
		require.Equal(t, Shard{Open: true, Epoch: 1, Units: 0, Holds: 1, Requests: 2, Buyers: 1}, shards[0])
		require.Len(t, s.held(1, 2), 2, "the mark too")
		h := s.held(0, 2)[0]
		require.Less(t, h.Age, time.Minute, "by the server's clock alone")
		h.Age = 0
		require.Equal(t, Held{Unit: true, Hold: order.Hold{
			CouponID: s.load.CouponID, UserID: c.UserID, RequestID: "lent", OrderID: c.OrderID,
			Epoch: 1, Shards: 2, Shard: 0,
		}}, h)
	})
}

func TestOps_EveryWrite_IsCounted(t *testing.T) {
	everywhere(t, func(t *testing.T, o redisconn.Options) {
		s := open(t, dial(t, o), 5, 1)
		s.limit = 5
		last := int64(0)
		grown := func(what string) {
			t.Helper()
			shards, err := s.ReadShards(t.Context(), s.load.CouponID, 1)
			require.NoError(t, err)
			require.Greater(t, shards[0].Ops, last, what)
			last = shards[0].Ops
		}
		grown("load")
		first, second := s.buy(7), s.buy(7)
		grown("reserve")
		_, err := reserve(t.Context(), s, s.claim(7, first.RequestID))
		require.NoError(t, err)
		grown("join")
		require.NoError(t, release(t.Context(), s, first))
		grown("release of a share")
		require.NoError(t, confirm(t.Context(), s, second))
		grown("confirm")
		require.NoError(t, s.Restock(t.Context(), back(second)))
		grown("return")
		first.Attempt = 0
		require.NoError(t, release(t.Context(), s, first))
		grown("release")
		lend := []any{1, "other", lastID.Add(1), 8, "", 0, 0}
		_, err = s.run(t.Context(), lendScript, s.load.CouponID, 0, lend...)
		require.NoError(t, err)
		grown("lend")
	})
}

func TestHolds_Pages_HaveOldestFirst(t *testing.T) {
	everywhere(t, func(t *testing.T, o redisconn.Options) {
		const many = 2*pageSize + 7
		s := open(t, dial(t, o), many, 1)
		var want []int64
		for user := range int64(many) {
			h := s.buy(user + 1)
			if user%3 == 0 {
				require.NoError(t, confirm(t.Context(), s, h))
				continue
			}
			want = append(want, h.OrderID)
		}
		var got []int64
		for _, h := range s.openHolds(1) {
			got = append(got, h.OrderID)
		}
		require.ElementsMatch(t, want, got)
		for h, err := range s.OpenHolds(t.Context(), s.load.CouponID, 0, 1) {
			require.NoError(t, err)
			require.Equal(t, got[0], h.OrderID)
			break
		}

		of := coupon.Coupon{ID: s.load.CouponID, Shards: 1}
		none, err := s.OldHolds(t.Context(), of, 0, time.Hour, 0, 10)
		require.NoError(t, err)
		require.Empty(t, none, "young")
		require.Eventually(t, func() bool {
			old, err := s.OldHolds(t.Context(), of, 0, time.Millisecond, len(want)-2, 10)
			require.NoError(t, err)
			return len(old) == 2
		}, 10*time.Second, time.Millisecond)
		old, err := s.OldHolds(t.Context(), of, 0, 0, 3, 2)
		require.NoError(t, err)
		require.Equal(t, []int64{old[0].OrderID, old[1].OrderID}, got[3:5])
	})
}

func TestShards_Order_ReportWhatTheyKnow(t *testing.T) {
	everywhere(t, func(t *testing.T, o redisconn.Options) {
		s, h := lent(t, o)
		paid := s.mine(0)
		require.NoError(t, confirm(t.Context(), s, paid))
		gone := s.mine(1)
		require.NoError(t, confirm(t.Context(), s, gone))
		require.NoError(t, s.Restock(t.Context(), back(gone)))
		heads, err := s.ReadShards(t.Context(), s.load.CouponID, 2)
		require.NoError(t, err)
		of := func(h order.Hold) order.Order {
			return order.Order{ID: h.OrderID, UserID: h.UserID, RequestID: h.RequestID, Shard: h.Shard}
		}
		unknown := of(paid)
		unknown.RequestID, unknown.ID, unknown.Shard = "unknown", 1, 99
		traces, err := s.Traces(t.Context(), s.load.CouponID, heads, []order.Order{of(h), of(paid), of(gone), unknown})
		require.NoError(t, err)
		require.Equal(t, []Trace{
			{Home: ShardRecord{OrderID: paid.OrderID}, Bought: 1},
			{Home: ShardRecord{OrderID: gone.OrderID}, Returned: true},
			{Bought: 1},
		}, traces[1:])
		require.False(t, traces[0].Home.Hold.Unit, "marked at home")
		require.True(t, traces[0].Lender.Hold.Unit, "lent by the sibling")
		require.Equal(t, []int64{h.OrderID, h.OrderID}, []int64{traces[0].Home.OrderID, traces[0].Lender.OrderID})
	})
}

// A sale that has ended leaves nothing, neither in the shards that it had at its end nor
// in those of a time when there were more.
func TestFree_Coupon_LeavesNothing(t *testing.T) {
	everywhere(t, func(t *testing.T, o redisconn.Options) {
		s := open(t, dial(t, o), 9, 5)
		s.buy(7)
		s.load.Epoch, s.load.Shards = 2, 2
		require.NoError(t, s.Load(t.Context(), s.load))
		h := s.buy(8)
		there := func() (n int64) {
			for k := range 6 {
				n += s.client.Exists(t.Context(), s.keys(s.load.CouponID, k, len(keySuffixes))...).Val()
			}
			return n
		}
		before := there()
		freed, err := s.Free(t.Context(), s.load.CouponID, 1)
		require.NoError(t, err)
		require.Equal(t, 3, freed, "of the older epoch")
		require.Less(t, there(), before)
		loaded, err := s.Loaded(t.Context(), s.load.CouponID, 2, 2)
		require.NoError(t, err)
		require.True(t, loaded, "it was loaded since")

		for range 2 {
			_, err = s.Free(t.Context(), s.load.CouponID, 2)
			require.NoError(t, err)
			require.Zero(t, there())
		}
		require.NoError(t, confirm(t.Context(), s, h), "what comes late changes nothing")
		require.NoError(t, release(t.Context(), s, h))
		require.ErrorIs(t, s.try(8), coupon.ErrNotLoaded)
		require.ErrorIs(t, s.Restock(t.Context(), back(h)), coupon.ErrNotLoaded)
		require.Zero(t, there())
	})
}

func TestUnresolvedOrder_AnyInstance_FindsIt(t *testing.T) {
	everywhere(t, func(t *testing.T, o redisconn.Options) {
		s, there := New(dial(t, o), Options{RefusalTTL: longFlag}), New(dial(t, o), Options{RefusalTTL: longFlag})
		id := lastID.Add(1)
		_, err := there.Unresolved(t.Context(), id)
		require.ErrorIs(t, err, order.ErrNotFound)
		want := order.Order{
			ID: id, CouponID: 1, UserID: 2, Slot: 3, Status: order.InDoubt, PriceCents: 4, RequestID: "r", Shard: 5,
			Fence: 1<<64 - 1, CreatedAt: time.UnixMilli(6).UTC(), ExpiresAt: time.UnixMilli(7).UTC(),
		}
		require.NoError(t, s.PutUnresolved(t.Context(), []order.Order{want})[0])
		got, err := there.Unresolved(t.Context(), id)
		require.NoError(t, err)
		require.Equal(t, want, got)
		lasts, err := s.client.PTTL(t.Context(), ticketKey(id)).Result()
		require.NoError(t, err)
		require.InDelta(t, unresolvedTTL, lasts, float64(time.Minute))
		require.NoError(t, s.client.Set(t.Context(), ticketKey(id), "{", 0).Err())
		_, err = there.Unresolved(t.Context(), id)
		require.Error(t, err, "spoilt")
		require.NotErrorIs(t, err, order.ErrNotFound)
	})
}

func TestParseHolds_InvalidReply_ReturnsError(t *testing.T) {
	for name, answer := range map[string][]string{
		"nothing":                {},
		"too short":              {"1", "2", "3"},
		"an order without hold":  {"1", "2", "0", "1", "5"},
		"a hold of four parts":   {"1", "2", "0", "1", "5", "own r 7 1"},
		"a hold of six parts":    {"1", "2", "0", "1", "5", "own r 7 1 ,5, x"},
		"an epoch that is none":  {"x", "2", "0", "0"},
		"a user that is none":    {"1", "2", "0", "1", "5", "own r x 1 ,5,"},
		"a number out of bounds": {"1", "9223372036854775808", "0", "0"},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, _, err := parseHolds(answer, 1, 0, 1)
			require.Error(t, err)
		})
	}
	for _, answer := range [][]string{{"1", "2", "3"}, {"1", "2", "3", "4", "x", "6"}} {
		_, err := parseShard(answer)
		require.Error(t, err)
	}
}

// Whatever a shard may hold, reading it ends in holds that say the same or in an error.
func FuzzParseHolds_AnyReply_IsReadOrRefused(f *testing.F) {
	f.Add("1|2|0|0")
	f.Add("||0|0")
	f.Add("1|2|0|3|5|own r1 7 1 ,5,|6|lent r2 8 2 ,6,|7|mark r3 9 3 ,7,")
	f.Add("1|2|0|1|5|own r1")
	f.Fuzz(func(t *testing.T, text string) {
		answer := strings.Split(text, "|")
		page, _, _, err := parseHolds(answer, 1, 2, 3)
		if err != nil {
			return
		}
		require.Len(t, answer, 4+2*len(page))
		for i, h := range page {
			require.Equal(t, strings.Fields(answer[5+2*i])[1], h.RequestID)
			require.Equal(t, strings.Fields(answer[5+2*i])[0] != "mark", h.Unit)
			require.Zero(t, h.Attempt, "all shares")
		}
	})
}
