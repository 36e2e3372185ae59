package stock

import (
	"context"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/platform/redisconn"
)

// readAll is the name, beside those of the scripts, of reading all counters.
const readAll = "read all"

var scripts = map[string]script{
	"reserve": reserveScript, "lend": lendScript, "confirm": confirmScript, "release": releaseScript,
	"restock": restockScript, "clear": clearScript, "adopt": adoptScript, "note": noteScript, "open": openScript, "shard": shardScript,
	"raise": raiseScript, "holds": holdsScript, "acknowledge": ackScript,
}

// meddler does something just before a call is sent, as another instance or the
// network might.
type meddler struct {
	names map[string]string // of the scripts by their hash

	mu     sync.Mutex
	before func(name string)
	calls  map[string]int
}

// meddle calls before with the name of each call that the client will make.
func meddle(client redis.UniversalClient, before func(name string)) *meddler {
	m := &meddler{before: before, calls: map[string]int{}, names: map[string]string{}}
	for name, sc := range scripts {
		m.names[sc.Hash()] = name
	}
	m.names[""] = readAll
	client.AddHook(m)
	return m
}

func (m *meddler) tell(name string) {
	m.mu.Lock()
	m.calls[name]++
	m.mu.Unlock()
	m.before(name)
}

func (m *meddler) DialHook(next redis.DialHook) redis.DialHook { return next }

func (m *meddler) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if cmd.Name() == "evalsha" {
			m.tell(m.names[cmd.Args()[1].(string)])
		}
		return next(ctx, cmd)
	}
}

func (m *meddler) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		hash := ""
		switch cmds[0].Name() {
		case "eval": // of a loading
			hash = redis.NewScript(cmds[0].Args()[1].(string)).Hash()
		case "evalsha": // for many
			hash = cmds[0].Args()[1].(string)
		}
		m.tell(m.names[hash])
		return next(ctx, cmds)
	}
}

// once makes f run at the first call of that name only.
func once(name string, f func()) func(string) {
	var done sync.Once
	return func(called string) {
		if called == name {
			done.Do(f)
		}
	}
}

func forgetScripts(t testing.TB, client redis.UniversalClient) {
	t.Helper()
	if c, ok := client.(*redis.ClusterClient); ok {
		require.NoError(t, c.ForEachMaster(t.Context(), func(ctx context.Context, node *redis.Client) error {
			return node.ScriptFlush(ctx).Err()
		}))
		return
	}
	require.NoError(t, client.ScriptFlush(t.Context()).Err())
}

func TestScripts_ForgottenBeforeAnyCall_AreLoadedAgain(t *testing.T) {
	everywhere(t, func(t *testing.T, o redisconn.Options) {
		other := dial(t, o)
		client := dial(t, o)
		m := meddle(client, func(string) { forgetScripts(t, other) })
		s := closed(t, client, 3, 2)
		s.load.Buyers = bought(map[int64]int{1: 1})
		require.NoError(t, s.Load(t.Context(), s.load))
		s.buy(s.at(1, 1))
		h := s.buy(s.at(1, 2))
		require.Equal(t, 0, h.Shard)
		require.NoError(t, confirm(t.Context(), s, h))
		require.NoError(t, s.Restock(t.Context(), back(h)))
		require.NoError(t, release(t.Context(), s, s.buy(s.at(0, 1))))
		s.wants(1, 1, 1)
		require.Len(t, m.calls, 11, "all scripts, and the reading")
	})
}
