package stock

import (
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/order"
	"example.com/seckill/internal/platform/redisconn"
)

// write notes a layout in every shard, as another version of the program would; empty: none, as
// the programs before there were numbers.
func (s *shop) write(layout string) {
	s.t.Helper()
	for shard := range s.load.Shards {
		meta := tag(s.load.CouponID, shard) + "meta"
		if layout == "" {
			require.NoError(s.t, s.client.HDel(s.t.Context(), meta, "layout").Err())
			continue
		}
		require.NoError(s.t, s.client.HSet(s.t.Context(), meta, "layout", layout).Err())
	}
}

// whole is everything that the shards keep.
func (s *shop) whole() (all []string) {
	s.t.Helper()
	for shard := range s.load.Shards {
		for _, key := range s.keys(s.load.CouponID, shard, len(keySuffixes)) {
			text, err := s.client.Dump(s.t.Context(), key).Result()
			require.NoError(s.t, err)
			all = append(all, key+" "+text)
		}
	}
	return all
}

func onAServer(t *testing.T) *shop {
	t.Helper()
	return open(t, dial(t, backends["a server"](t)), 8, 2)
}

// Whatever is asked of a shard of a newer program is refused by name, and writes nothing.
func TestLayout_NewerShard_IsLeftAsItIs(t *testing.T) {
	s := onAServer(t)
	ctx := t.Context()
	sold := s.buy(s.at(0, 0))
	open, err := reserve(ctx, s, s.claim(s.at(0, 1), s.request()))
	require.NoError(t, err)
	require.NoError(t, s.CheckLayout())
	s.write("99")
	before := s.whole()
	restock := order.Restock{CouponID: s.load.CouponID, UserID: sold.UserID, OrderID: sold.OrderID, Epoch: sold.Epoch, Shards: sold.Shards, Shard: sold.Shard}
	next := s.load
	next.Epoch++
	asked := map[string]func() error{
		"reserve": func() error { _, err := reserve(ctx, s, s.claim(s.at(0, 2), s.request())); return err },
		"confirm": func() error { return confirm(ctx, s, open) },
		"release": func() error { return release(ctx, s, open) },
		"restock": func() error { return s.Restock(ctx, restock) },
		"load":    func() error { return s.Load(ctx, next) },
		"go on":   func() error { return s.Load(ctx, s.load) },
		"open":    func() error { return s.Open(ctx, s.load) },
		"lend": func() error {
			_, err := s.run(ctx, lendScript, s.load.CouponID, 1, s.load.Epoch, "r", 1, 1, "", 0, 0)
			return err
		},
		"acknowledge": func() error { _, err := s.run(ctx, ackScript, s.load.CouponID, 0, s.load.Epoch, "1-1"); return err },
		"dead letter": func() error {
			_, err := s.run(ctx, deadLetterScript, s.load.CouponID, 0, s.load.Epoch, "1-1", "why", 1)
			return err
		},
		"note": func() error {
			_, err := s.run(ctx, noteScript, s.load.CouponID, 0, s.load.Epoch, "", 0, 7, 1)
			return err
		},
		"settle":   func() error { _, err := s.run(ctx, holdsScript, s.load.CouponID, 0, 0, 10, ""); return err },
		"is it on": func() error { _, err := s.Loaded(ctx, s.load.CouponID, s.load.Epoch, s.load.Shards); return err },
	}
	for name, ask := range asked {
		err := ask()
		require.ErrorIs(t, err, order.ErrUnavailable, name)
		require.True(t, IsNewerLayout(err), "%s: %v", name, err)
		require.ErrorContains(t, err, "layout 99; this one knows 2", name)
		require.Equal(t, redisconn.CauseNewerLayout, redisconn.Cause(err), name)
		require.Equal(t, before, s.whole(), name)
	}
	require.ErrorContains(t, s.CheckLayout(), "a newer version of the program has loaded the shard")
	require.False(t, s.isHalfDone(s.load.CouponID, s.load.Epoch), "no script was cut short")

	s.write("1")
	s.requireLoaded(true)
	require.NoError(t, confirm(ctx, s, open))
}

// What the programs before there were numbers have loaded is sold on, and loaded with a number.
func TestLayout_OlderShard_IsSoldOnOrReloaded(t *testing.T) {
	s := onAServer(t)
	s.write("")
	s.requireLoaded(true)
	s.buy(s.at(0, 0))

	s.write("-1") // older than any that this one works with
	s.requireLoaded(false)
	before := s.whole()
	_, err := reserve(t.Context(), s, s.claim(s.at(0, 1), s.request()))
	require.ErrorIs(t, err, order.ErrUnavailable)
	require.ErrorContains(t, err, "OLDERLAYOUT the shard has layout -1, this program knows 0 and later")
	require.Error(t, confirm(t.Context(), s, order.Hold{CouponID: s.load.CouponID, Epoch: s.load.Epoch, Shards: s.load.Shards, OrderID: 1}))
	require.Equal(t, before, s.whole(), "an older program may be at work there")
	require.NoError(t, s.Load(t.Context(), s.load), "which had begun the epoch")
	s.requireLoaded(true)

	s.write("-1")
	s.load.Epoch++
	require.NoError(t, s.Load(t.Context(), s.load))
	s.requireLoaded(true)
	layout, err := s.client.HGet(t.Context(), tag(s.load.CouponID, 0)+"meta", "layout").Result()
	require.NoError(t, err)
	require.Equal(t, "1", layout)
}

func TestShard_OtherKnownLayout_IsSoldOn(t *testing.T) {
	s := onAServer(t)
	for n, other := range []string{"0", "2"} { // the version before wrote 2 for some coupons
		s.write(other)
		s.requireLoaded(true)
		require.Equal(t, s.load.Epoch, s.buy(s.at(0, n)).Epoch)
		require.NoError(t, s.CheckLayout())
	}
}
