package redisconn_test

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/platform/redisconn"
	"example.com/seckill/internal/testing/testservers"
)

var increment = redis.NewScript(`if ARGV[1] == 'bad' then return redis.error_reply('NO') end
	return redis.call('INCR', KEYS[1])`)

func pipelined(t *testing.T, o redisconn.Options) (redis.UniversalClient, redisconn.Pipelined) {
	t.Helper()
	client := open(t, o)
	p, err := redisconn.Pipeline(client)
	require.NoError(t, err)
	return client, p
}

// Each caller gets the answer to what it asked, and one that fails fails alone, on
// whichever master it is.
func TestSharedPipeline_Callers_GetTheirOwnReplies(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]redisconn.Options{
		redisconn.Single:  {Addrs: []string{testservers.NewRedis(t).Addr()}},
		redisconn.Cluster: {Mode: redisconn.Cluster, Addrs: testservers.NewCluster(t).Addrs()},
	} {
		t.Run(name, func(t *testing.T) {
			client, p := pipelined(t, o)
			const callers, each = 40, 20
			var all sync.WaitGroup
			for i := range callers {
				all.Go(func() {
					key := fmt.Sprintf("n:%d", i)
					for n := range each {
						got, err := increment.Run(t.Context(), p, []string{key}, "good").Int()
						if err != nil || got != n+1 {
							t.Errorf("%s: %d, %v", key, got, err)
						}
						read := redis.NewStringCmd(t.Context(), "get", key)
						if err := p.Process(t.Context(), read); err != nil || read.Val() != strconv.Itoa(n+1) {
							t.Errorf("%s: %q, %v", key, read.Val(), err)
						}
						if err := increment.Run(t.Context(), p, []string{key}, "bad").Err(); err == nil || err.Error() != "ERR NO" {
							t.Errorf("%s: %v", key, err)
						}
					}
				})
			}
			all.Wait()
			for i := range callers {
				require.Equal(t, strconv.Itoa(each), client.Get(t.Context(), fmt.Sprintf("n:%d", i)).Val())
			}
		})
	}
}

func TestSharedPipeline_CallerGone_SendsNothing(t *testing.T) {
	client, p := pipelined(t, redisconn.Options{Addrs: []string{testservers.NewRedis(t).Addr()}})
	gone, leave := context.WithCancel(t.Context())
	leave()
	require.ErrorIs(t, increment.Run(gone, p, []string{"n"}, "good").Err(), context.Canceled)
	require.ErrorIs(t, p.Eval(gone, `return redis.call('INCR', KEYS[1])`, []string{"n"}).Err(), context.Canceled)
	require.ErrorIs(t, p.Process(gone, redis.NewIntCmd(gone, "incr", "n")), context.Canceled)
	require.Zero(t, client.Exists(t.Context(), "n").Val())
}

func TestSharedPipeline_ScriptsForgotten_LoadsThem(t *testing.T) {
	client, p := pipelined(t, redisconn.Options{Addrs: []string{testservers.NewRedis(t).Addr()}})
	for n := range 3 {
		got, err := increment.Run(t.Context(), p, []string{"n"}, "good").Int()
		require.NoError(t, err)
		require.Equal(t, n+1, got)
		require.NoError(t, client.ScriptFlush(t.Context()).Err())
	}
}
