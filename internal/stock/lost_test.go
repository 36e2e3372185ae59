package stock

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/order"
	"example.com/seckill/internal/platform/redisconn"
	"example.com/seckill/internal/testing/faultnet"
	"example.com/seckill/internal/testing/testservers"
)

// writes is one call that writes: its preparation, the call, and the state of the shards afterwards. There are two
// shards of one unit each, and a limit of two.
type writes struct {
	script  string // the script that loses its replies
	prepare func(s *shop) order.Hold
	call    func(s *shop, c order.ReserveRequest, h order.Hold) error
	after   func(s *shop)
	many    bool // it asks both shards, for a member on each
	unsure  bool // if no reply comes at all, it cannot be repeated: the reconciler ends it
}

var writing = map[string]writes{
	"reserve at home": {
		script:  "reserve",
		prepare: func(*shop) order.Hold { return order.Hold{} },
		call:    reserving,
		after:   func(s *shop) { s.wants(1, 0, 1) },
	},
	"reserve at a sibling": {
		script:  "lend",
		prepare: func(s *shop) order.Hold { return s.buy(s.at(0, 1)) },
		call:    reserving,
		after:   func(s *shop) { s.wants(2, 0, 0) },
		unsure:  true,
	},
	"confirm": {
		script:  "confirm",
		prepare: func(s *shop) order.Hold { return s.buy(s.at(0, 0)) },
		call:    func(s *shop, _ order.ReserveRequest, h order.Hold) error { return confirm(s.t.Context(), s, h) },
		after: func(s *shop) {
			s.wants(0, 0, 1)
			require.Equal(s.t, "1", s.field(0, "buyers", s.at(0, 0)))
		},
	},
	"release": {
		script:  "release",
		prepare: func(s *shop) order.Hold { return s.buy(s.at(0, 0)) },
		call:    func(s *shop, _ order.ReserveRequest, h order.Hold) error { return release(s.t.Context(), s, h) },
		after:   func(s *shop) { s.wants(0, 1, 1) },
	},
	"return": {
		script:  "restock",
		prepare: func(s *shop) order.Hold { return s.buy(s.at(0, 0)) },
		call:    func(s *shop, _ order.ReserveRequest, h order.Hold) error { return s.Restock(s.t.Context(), back(h)) },
		after: func(s *shop) {
			s.wants(0, 1, 1)
			require.Empty(s.t, s.field(0, "buyers", s.at(0, 0)))
		},
	},
	"reserve many": {
		script:  "reserve",
		prepare: func(*shop) order.Hold { return order.Hold{} },
		call: func(s *shop, c order.ReserveRequest, _ order.Hold) error {
			other := c
			other.UserID, other.RequestID, other.OrderID = s.at(1, 0), "other", c.OrderID+1_000_000
			return s.all(refusalsOf(s.Reserve(s.t.Context(), []order.ReserveRequest{c, other})))
		},
		after: func(s *shop) { s.wants(2, 0, 0) },
		many:  true,
	},
	"confirm many": {
		script:  "confirm",
		prepare: func(s *shop) order.Hold { s.buy(s.at(1, 0)); return s.buy(s.at(0, 0)) },
		call: func(s *shop, _ order.ReserveRequest, _ order.Hold) error {
			return s.all(s.Confirm(s.t.Context(), s.had))
		},
		after: func(s *shop) { s.wants(0, 0, 0) },
		many:  true,
	},
	"release many": {
		script:  "release",
		prepare: func(s *shop) order.Hold { s.buy(s.at(1, 0)); return s.buy(s.at(0, 0)) },
		call: func(s *shop, _ order.ReserveRequest, _ order.Hold) error {
			return s.all(s.Release(s.t.Context(), s.had))
		},
		after: func(s *shop) { s.wants(0, 1, 1) },
		many:  true,
	},
	"load, clearing": {script: "clear", prepare: newEpoch, call: load, after: loaded},
	"load, buyers":   {script: "note", prepare: newEpoch, call: load, after: loaded},
	"load, opening":  {script: "open", prepare: newEpoch, call: load, after: loaded},
}

// replies returns the number of replies to lose, so that neither sending has an answer. A loading and a call for
// many send scripts to both shards at once, and each script has a reply.
func (w writes) replies() int32 {
	if w.many || w.script == "clear" || w.script == "note" || w.script == "open" {
		return 4
	}
	return 2
}

func reserving(s *shop, c order.ReserveRequest, _ order.Hold) error {
	_, err := reserve(s.t.Context(), s, c)
	return err
}

// all returns the common outcome of a batch.
func (s *shop) all(outcomes []error) error {
	s.t.Helper()
	for i, err := range outcomes {
		require.Equal(s.t, err == nil, outcomes[0] == nil, "member %d: %v, and the first: %v", i, err, outcomes[0])
	}
	return outcomes[0]
}

func newEpoch(s *shop) order.Hold {
	s.load.Epoch, s.load.Buyers = 2, bought(map[int64]int{s.at(0, 0): 1})
	return order.Hold{}
}

func load(s *shop, _ order.ReserveRequest, _ order.Hold) error { return s.Load(s.t.Context(), s.load) }

func loaded(s *shop) {
	s.wants(0, 1, 1)
	require.Equal(s.t, "1", s.field(0, "buyers", s.at(0, 0)))
}

func TestStock_ReplyLost_ChangesNothing(t *testing.T) {
	for name, w := range writing {
		t.Run(name, func(t *testing.T) {
			s, proxy := behind(t)
			h := w.prepare(s)
			meddle(s.client, once(w.script, func() { t.Cleanup(proxy.LoseReplies(1)) }))
			require.NoError(t, w.call(s, s.claim(s.at(0, 0), "r"), h))
			w.after(s)
		})
	}
}

func TestReserve_RepeatedAfterNoReply_ChangesNothing(t *testing.T) {
	for name, w := range writing {
		t.Run(name, func(t *testing.T) {
			s, proxy := behind(t)
			h, c := w.prepare(s), s.claim(s.at(0, 0), "r")
			meddle(s.client, once(w.script, func() { t.Cleanup(proxy.LoseReplies(w.replies())) }))
			require.ErrorIs(t, w.call(s, c, h), order.ErrUnavailable)
			// After many lost replies the circuit of the server may be open until the client asks again.
			require.Eventually(t, func() bool { return s.client.Ping(t.Context()).Err() == nil }, 5*time.Second, time.Millisecond)
			if w.unsure {
				w.after(s)
				require.ErrorIs(t, w.call(s, c, h), order.ErrBusy)
			} else {
				require.NoError(t, w.call(s, c, h))
			}
			w.after(s)
		})
	}
}

// behind opens a shop behind a proxy, with warm connections and loaded scripts. Otherwise the lost reply would be
// that of a greeting or of NOSCRIPT. Pipelines have connections of their own.
func behind(t *testing.T) (*shop, *faultnet.Proxy) {
	t.Helper()
	proxy := testservers.Proxy(t, testservers.Redis(t).Addr())
	s := open(t, dial(t, redisconn.Options{Addrs: []string{proxy.Addr()}}), 2, 2)
	s.limit = 2
	_, err := s.Remaining(t.Context(), s.load.CouponID, 2)
	require.NoError(t, err)
	for _, sc := range scripts {
		require.NoError(t, sc.Load(t.Context(), s.client).Err())
	}
	return s, proxy
}

func TestCounters_ReplyLost_TakesNothing(t *testing.T) {
	s, proxy := behind(t)
	s.buy(s.at(0, 0))
	meddle(s.client, once(readAll, func() { t.Cleanup(proxy.LoseReplies(1)) }))
	require.ErrorIs(t, s.try(s.at(0, 1)), order.ErrUnavailable)
	require.False(t, s.SoldOut(s.load.CouponID, s.load.Epoch))
	s.wants(1, 0, 1)
	require.Equal(t, 1, s.buy(s.at(0, 1)).Shard, "and nothing is in the way of asking again")
}
