package redisconn_test

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/platform/redisconn"
	"example.com/seckill/internal/testing/faultnet"
	"example.com/seckill/internal/testing/testservers"
)

func TestMain(m *testing.M) { testservers.Main(m) }

// recovery is what a client may take to find a new master.
const recovery = 10 * time.Second

func open(t *testing.T, o redisconn.Options) redis.UniversalClient {
	t.Helper()
	client, err := redisconn.Open(t.Context(), o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	return client
}

// faults by which a reply is lost after the command was executed.
var faults = map[string]faultnet.Fault{
	"the connection ends":     faultnet.CutRepliesAfter(0),
	"the reply never arrives": faultnet.NoReplies,
}
