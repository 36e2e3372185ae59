package stock

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"example.com/seckill/internal/order"
	"example.com/seckill/internal/platform/redisconn"
	"example.com/seckill/internal/testing/testservers"
)

// fates is what becomes of the scripts of a pipeline, each by itself.
var fates = []string{"answered", "answered", "reply lost", "never arrived", "late", "doubled"}

// carrier brings pipelines of scripts to the server as their fates are.
type carrier struct {
	redis.Hook
	fate func() string // nil: all are answered
	kept [][]any       // the late ones
	sent int           // pipelines
}

func (c *carrier) DialHook(next redis.DialHook) redis.DialHook          { return next }
func (c *carrier) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }

func (c *carrier) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if c.fate == nil {
			return next(ctx, cmds)
		}
		c.sent++
		var arrive, silent []redis.Cmder
		for _, cmd := range cmds {
			fate := c.fate()
			switch fate {
			case "late":
				c.kept = append(c.kept, cmd.Args())
			case "doubled":
				arrive = append(arrive, redis.NewCmd(ctx, cmd.Args()...), cmd)
			case "answered", "reply lost":
				arrive = append(arrive, cmd)
			}
			if fate == "reply lost" || fate == "never arrived" || fate == "late" {
				silent = append(silent, cmd)
			}
		}
		var err error
		if len(arrive) > 0 {
			err = next(ctx, arrive)
		}
		for _, cmd := range silent {
			cmd.SetErr(errSilence) // which no breaker hears of
		}
		return err
	}
}

// deliver executes the late scripts.
func (c *carrier) deliver(t require.TestingT, client redis.UniversalClient) {
	for _, args := range c.kept {
		if err := client.Do(context.Background(), args...).Err(); err != nil && !redis.HasErrorPrefix(err, "NOSCRIPT") {
			require.NoError(t, err)
		}
	}
	c.kept = nil
}

// A script of a batch, or its repetition, may be lost, late or cut off. A member gets its true result or no
// answer. A repeated request gets the unit that the first one took.
func TestBatch_ReplyLost_NoMemberGetsWrongAnswer(t *testing.T) {
	type to struct {
		client, others redis.UniversalClient
		carrier        *carrier
	}
	on := map[string]to{}
	var names []string
	for name, backend := range backends {
		o := backend(t)
		one := to{dial(t, o), dial(t, o), &carrier{}}
		one.client.AddHook(one.carrier)
		on[name], names = one, append(names, name)
	}
	slices.Sort(names)
	silenced := 0
	rapid.Check(t, func(r *rapid.T) {
		at := on[rapid.SampledFrom(names).Draw(r, "backend")]
		s := open(t, at.client, 40, 4)
		broken := func(do func()) {
			at.carrier.fate = func() string { return rapid.SampledFrom(fates).Draw(r, "fate") }
			defer func() { at.carrier.fate = nil }()
			do()
		}
		// No caller gets a wrong answer.
		honest := func(i int, err error) {
			if err != nil {
				require.ErrorIs(r, err, order.ErrUnavailable, "member %d", i)
				silenced++
			}
		}
		var all []order.ReserveRequest
		for user := range rapid.Int64Range(1, 12).Draw(r, "members") {
			all = append(all, s.claim(user+1, s.request()))
		}
		broken(func() {
			for i, got := range s.Reserve(t.Context(), all) {
				honest(i, got.Err)
				if got.Err == nil {
					require.NotEmpty(r, s.field(got.Hold.Shard, "holds", got.Hold.OrderID), "it is told to have it")
				}
			}
		})
		if rapid.Bool().Draw(r, "the late ones come soon") {
			at.carrier.deliver(r, at.others)
		}
		held := s.holdsOf(s.Reserve(t.Context(), all))
		for i, h := range held {
			require.Equal(r, all[i].OrderID, h.OrderID)
		}
		require.Len(r, s.openHolds(4), len(all))
		require.Equal(r, 40-int64(len(all)), s.sum(r))

		sold := rapid.IntRange(0, len(held)).Draw(r, "sold")
		broken(func() {
			for i, err := range append(s.Confirm(t.Context(), held[:sold]), s.Release(t.Context(), held[sold:])...) {
				honest(i, err)
			}
		})
		require.NoError(r, errors.Join(s.Confirm(t.Context(), held[:sold])...))
		require.NoError(r, errors.Join(s.Release(t.Context(), held[sold:])...))
		require.Empty(r, s.openHolds(4))
		require.Equal(r, 40-int64(sold), s.sum(r))

		// A late reservation finds its order; one that was released is a hold of a dead request.
		at.carrier.deliver(r, at.others)
		for _, h := range s.openHolds(4) {
			require.False(r, slices.ContainsFunc(held[:sold], func(sold order.Hold) bool { return sold.OrderID == h.OrderID }))
			require.NoError(r, release(t.Context(), s, h))
		}
		require.Equal(r, 40-int64(sold), s.sum(r))
	})
	require.Positive(t, silenced)
}

// sum is the units in all shards.
func (s *shop) sum(t require.TestingT) (units int64) {
	left, err := s.Remaining(s.t.Context(), s.load.CouponID, s.load.Shards)
	require.NoError(t, err)
	for _, n := range left {
		units += n
	}
	return units
}

func TestBatch_ScriptsForgotten_LoadsThem(t *testing.T) {
	everywhere(t, func(t *testing.T, o redisconn.Options) {
		other, client := dial(t, o), dial(t, o)
		s := open(t, client, 9, 3)
		meddle(client, func(string) { forgetScripts(t, other) })
		held := s.holdsOf(s.many(1, 2, 3, 4))
		require.NoError(t, errors.Join(s.Confirm(t.Context(), held[:2])...))
		require.NoError(t, errors.Join(s.Release(t.Context(), held[2:])...))
		require.Empty(t, s.openHolds(3))
		require.Equal(t, int64(7), s.sum(t))
	})
}

// A call follows a slot that has moved to another master. Members of a half-migrated slot get ErrFallback and do not
// delay the other members.
func TestBatch_SlotMoves_IsFollowed(t *testing.T) {
	cluster := testservers.Cluster(t)
	o := redisconn.Options{Mode: redisconn.Cluster, Addrs: cluster.Addrs()}
	s := open(t, dial(t, o), 20, 2)
	s.holdsOf(s.many(s.at(0, 0), s.at(1, 0)))
	key := tag(s.load.CouponID, 0)
	from, to, slot := mastersOf(t, key+"stock")
	keys := func(node *redis.Client) (all []any) {
		for _, key := range s.keys(s.load.CouponID, 0, len(keySuffixes)) {
			if node.Exists(t.Context(), key).Val() == 1 {
				all = append(all, key)
			}
		}
		return all
	}
	// move moves the slot, and tries two users while it is half moved.
	move := func(from, to *redis.Client, first, user int) {
		require.NoError(t, to.Do(t.Context(), "CLUSTER", "SETSLOT", slot, "IMPORTING", idOf(t, from)).Err())
		require.NoError(t, from.Do(t.Context(), "CLUSTER", "SETSLOT", slot, "MIGRATING", idOf(t, to)).Err())
		all := keys(from)
		migrate(t, from, to, all[:first]...)
		got := s.many(s.at(0, user), s.at(1, user))
		s.requireOutcomes(refusalsOf(got), order.ErrFallback, nil)
		require.NoError(t, release(t.Context(), s, got[1].Hold))
		migrate(t, from, to, all[first:]...)
		for _, node := range []*redis.Client{to, from} {
			require.NoError(t, node.Do(t.Context(), "CLUSTER", "SETSLOT", slot, "NODE", idOf(t, to)).Err())
		}
	}
	move(from, to, 3, 1)
	held := s.holdsOf(s.many(s.at(0, 1), s.at(1, 1)))
	move(to, from, 3, 2)
	require.NoError(t, errors.Join(s.Confirm(t.Context(), held[:1])...))
	require.NoError(t, errors.Join(s.Release(t.Context(), held[1:])...))
	s.wants(2, 8, 9)
}
