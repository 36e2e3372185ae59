package redisconn_test

import (
	"context"
	"strconv"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/platform/redisconn"
	"example.com/seckill/internal/testing/testservers"
	"example.com/seckill/internal/tools/servers"
)

// sendings are the ways in which a command follows another one that is refused, to the same node.
var sendings = map[string]func(ctx context.Context, c redis.UniversalClient, refused []any, key string) (refusal, err error){
	"a pipeline": func(ctx context.Context, c redis.UniversalClient, refused []any, key string) (refusal, err error) {
		cmds, _ := c.Pipelined(ctx, func(p redis.Pipeliner) error {
			p.Do(ctx, refused...)
			p.Incr(ctx, key)
			return nil
		})
		return cmds[0].Err(), cmds[1].Err()
	},
	"an automatic pipeline": func(ctx context.Context, c redis.UniversalClient, refused []any, key string) (refusal, err error) {
		p, err := c.AsyncAutoPipeline()
		if err != nil {
			return nil, err
		}
		defer func() { _ = p.Close() }()
		first, second := p.Submit(ctx, redis.NewCmd(ctx, refused...)), p.Submit(ctx, redis.NewIntCmd(ctx, "incr", key))
		return first.WaitContext(ctx), second.WaitContext(ctx)
	},
	"a common pipeline": func(ctx context.Context, c redis.UniversalClient, refused []any, key string) (refusal, err error) {
		p, err := redisconn.Pipeline(c)
		if err != nil {
			return nil, err
		}
		done := make(chan error)
		go func() { done <- p.Process(ctx, redis.NewCmd(ctx, refused...)) }()
		err = p.Process(ctx, redis.NewIntCmd(ctx, "incr", key))
		return <-done, err
	},
}

// The client would send a whole pipeline again for a first reply that says to try again: what was
// asked once is carried out once, whatever the server says to another command.
func TestPipeline_OneCommandRejected_OthersRunOnce(t *testing.T) {
	t.Parallel()
	group := testservers.NewCluster(t, servers.Set("cluster-require-full-coverage", "no"))
	client := open(t, redisconn.Options{Mode: redisconn.Cluster, Addrs: group.Addrs()})
	const there, counted = "{moving}there", "{near}"
	from := owner(t, client, group, there)
	masters, err := group.Masters(t.Context())
	require.NoError(t, err)
	to := masters[0]
	if to.Addr() == from.Addr() {
		to = masters[1]
	}
	fromClient, toClient := aside(t, from), aside(t, to)
	require.NoError(t, client.Set(t.Context(), there, 1, 0).Err())
	slot := client.ClusterKeySlot(t.Context(), there).Val()
	require.NoError(t, toClient.Do(t.Context(), "CLUSTER", "SETSLOT", slot, "IMPORTING", fromClient.ClusterMyID(t.Context()).Val()).Err())
	require.NoError(t, fromClient.Do(t.Context(), "CLUSTER", "SETSLOT", slot, "MIGRATING", toClient.ClusterMyID(t.Context()).Val()).Err())
	// keyOn names a key on the same node, in another slot.
	keyOn := func(begin string) string {
		for i := 0; ; i++ {
			key := begin + strconv.Itoa(i)
			if owner(t, client, group, key).Addr() == from.Addr() && client.ClusterKeySlot(t.Context(), key).Val() != slot {
				return key
			}
		}
	}
	down := keyOn("unserved")
	require.NoError(t, fromClient.Do(t.Context(), "CLUSTER", "DELSLOTS", client.ClusterKeySlot(t.Context(), down).Val()).Err())
	// The client decides by the reply's first word. States of a server in which it says these, and carries
	// out what follows all the same, are rare; a script says them at once.
	says := func(word string) []any {
		return []any{"eval", "return redis.error_reply('" + word + " said by a script')", 1, keyOn("said")}
	}
	for word, refused := range map[string][]any{
		"TRYAGAIN":    {"mget", there, "{moving}none"},
		"CLUSTERDOWN": {"get", down},
		"LOADING":     says("LOADING"),
		"READONLY":    says("READONLY"),
		"MASTERDOWN":  says("MASTERDOWN"),
		"NOREPLICAS":  says("NOREPLICAS"),
	} {
		for how, send := range sendings {
			t.Run(word+" before it in "+how, func(t *testing.T) {
				key := keyOn(counted + word + how)
				refusal, err := send(t.Context(), client, refused, key)
				require.NoError(t, err)
				require.ErrorContains(t, refusal, word)
				require.Equal(t, "1", fromClient.Get(t.Context(), key).Val())
			})
		}
	}
}
