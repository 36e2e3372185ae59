package stock

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"seckill/internal/order"
	"seckill/internal/redisconn"
)

func TestASnapshotTellsAllOfAShard(t *testing.T) {
	everywhere(t, func(t *testing.T, o redisconn.Options) {
		s := closed(t, dial(t, o), 3, 2) // 2, 1
		shards, err := s.Snapshot(t.Context(), s.load.CouponID, 2)
		require.NoError(t, err)
		require.Equal(t, []Shard{{}, {}}, shards, "nothing is there")

		require.NoError(t, s.Load(t.Context(), s.load))
		s.buy(s.at(1, 0))
		c := s.claim(s.at(1, 1), "lent")
		_, err = s.Reserve(t.Context(), c)
		require.NoError(t, err)
		shards, err = s.Snapshot(t.Context(), s.load.CouponID, 2)
		require.NoError(t, err)
		require.True(t, shards[0].Open)
		require.Equal(t, int64(1), shards[0].Epoch)
		require.Equal(t, int64(1), shards[0].Units)
		require.Len(t, shards[0].Holds, 1)
		require.Len(t, shards[1].Holds, 2)
		h := shards[0].Holds[0]
		require.Less(t, h.Age, time.Minute, "by the server's clock alone")
		h.Age = 0
		require.Equal(t, Held{Unit: true, Hold: order.Hold{
			CouponID: s.load.CouponID, UserID: c.UserID, RequestID: "lent", OrderID: c.OrderID,
			Epoch: 1, Shards: 2, Shard: 0,
		}}, h)
	})
}

func TestEveryWriteOfAShardIsSeenInItsOps(t *testing.T) {
	everywhere(t, func(t *testing.T, o redisconn.Options) {
		s := open(t, dial(t, o), 5, 1)
		s.limit = 5
		last := int64(0)
		grown := func(what string) {
			t.Helper()
			shards, err := s.Snapshot(t.Context(), s.load.CouponID, 1)
			require.NoError(t, err)
			require.Greater(t, shards[0].Ops, last, what)
			last = shards[0].Ops
		}
		grown("load")
		first, second := s.buy(7), s.buy(7)
		grown("reserve")
		_, err := s.Reserve(t.Context(), s.claim(7, first.RequestID))
		require.NoError(t, err)
		grown("join")
		require.NoError(t, s.Release(t.Context(), first))
		grown("release of a share")
		require.NoError(t, s.Confirm(t.Context(), second))
		grown("confirm")
		require.NoError(t, s.Return(t.Context(), back(second)))
		grown("return")
		first.Attempt = 0
		require.NoError(t, s.Release(t.Context(), first))
		grown("release")
		lend := []any{1, "other", lastID.Add(1), 8, "", 0}
		_, err = s.run(t.Context(), lendScript, s.load.CouponID, 0, lend...)
		require.NoError(t, err)
		grown("lend")
	})
}

func TestAHoldGrowsOlder(t *testing.T) {
	everywhere(t, func(t *testing.T, o redisconn.Options) {
		s := open(t, dial(t, o), 2, 1)
		s.buy(7)
		require.Eventually(t, func() bool {
			holds, err := s.OpenHolds(t.Context(), s.load.CouponID, 1)
			require.NoError(t, err)
			return holds[0].Age >= 20*time.Millisecond
		}, 10*time.Second, 5*time.Millisecond)
	})
}

func TestHistoryKnowsTheOrderOfEachRequest(t *testing.T) {
	everywhere(t, func(t *testing.T, o redisconn.Options) {
		const many = 2500 // more than a page
		s := open(t, dial(t, o), many, 1)
		want := map[string]int64{}
		for user := range int64(many) {
			h := s.buy(user + 1)
			want[h.RequestID] = h.OrderID
			if user%3 == 0 {
				require.NoError(t, s.Confirm(t.Context(), h))
			}
		}
		h := s.mine(1)
		require.NoError(t, s.Release(t.Context(), h))
		delete(want, h.RequestID)
		history, err := s.History(t.Context(), s.load.CouponID, 0)
		require.NoError(t, err)
		require.Equal(t, want, history)
	})
}

func TestATicketIsFoundByEveryInstance(t *testing.T) {
	everywhere(t, func(t *testing.T, o redisconn.Options) {
		s, there := New(dial(t, o), longFlag), New(dial(t, o), longFlag)
		id := lastID.Add(1)
		_, err := there.Ticket(t.Context(), id)
		require.ErrorIs(t, err, order.ErrNotFound)
		want := order.Order{
			ID: id, CouponID: 1, UserID: 2, Slot: 3, Status: order.InDoubt, PriceCents: 4, RequestID: "r", Shard: 5,
			Fence: 1<<64 - 1, CreatedAt: time.UnixMilli(6).UTC(), ExpiresAt: time.UnixMilli(7).UTC(),
		}
		require.NoError(t, s.PutTicket(t.Context(), want))
		got, err := there.Ticket(t.Context(), id)
		require.NoError(t, err)
		require.Equal(t, want, got)
		lasts, err := s.client.PTTL(t.Context(), ticketKey(id)).Result()
		require.NoError(t, err)
		require.InDelta(t, ticketLasts, lasts, float64(time.Minute))
		require.NoError(t, s.client.Set(t.Context(), ticketKey(id), "{", 0).Err())
		_, err = there.Ticket(t.Context(), id)
		require.Error(t, err, "spoilt")
		require.NotErrorIs(t, err, order.ErrNotFound)
	})
}

func TestWhatIsNoShardIsRefused(t *testing.T) {
	for name, answer := range map[string][]string{
		"nothing":                {},
		"too short":              {"1", "2", "3"},
		"an order without hold":  {"1", "2", "3", "4", "5"},
		"a hold of four parts":   {"1", "2", "3", "4", "5", "own r 7 1"},
		"a hold of six parts":    {"1", "2", "3", "4", "5", "own r 7 1 ,5, x"},
		"an epoch that is none":  {"x", "2", "3", "4"},
		"a user that is none":    {"1", "2", "3", "4", "5", "own r x 1 ,5,"},
		"a number out of bounds": {"1", "2", "9223372036854775808", "4"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := parseShard(answer, 1, 0, 1)
			require.Error(t, err)
		})
	}
}

// Whatever a shard may hold, reading it ends in a Shard that says the same or in
// an error.
func FuzzParseShard(f *testing.F) {
	f.Add("1|2|3|4")
	f.Add("|||4")
	f.Add("1|2|3|4|5|own r1 7 1 ,5,|6|lent r2 8 2 ,6,|7|mark r3 9 3 ,7,")
	f.Add("1|2|-3|4|5|own r1")
	f.Fuzz(func(t *testing.T, text string) {
		answer := strings.Split(text, "|")
		shard, err := parseShard(answer, 1, 2, 3)
		if err != nil {
			return
		}
		require.Len(t, answer, 4+2*len(shard.Holds))
		require.Equal(t, answer[2] != "", shard.Open)
		for i, h := range shard.Holds {
			require.Equal(t, shard.Epoch, h.Epoch)
			require.Equal(t, strings.Fields(answer[5+2*i])[1], h.RequestID)
			require.Equal(t, strings.Fields(answer[5+2*i])[0] != "mark", h.Unit)
			require.Zero(t, h.Attempt, "all shares")
		}
	})
}
