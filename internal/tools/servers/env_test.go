package servers_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/testing/testservers"
	"example.com/seckill/internal/tools/servers"
)

func TestEnv_Close_LeavesNoServerAndNoFolder(t *testing.T) {
	testservers.Need(t, servers.LookRedis)
	e, err := servers.NewEnv("seckill-env")
	require.NoError(t, err)
	one, err := e.StartRedis(t.Context())
	require.NoError(t, err)
	two, err := e.StartRedis(t.Context())
	require.NoError(t, err)
	require.Same(t, one, e.Redis, "the first")
	var order []string
	e.OnClose(func() error { order = append(order, "first"); return nil })
	e.OnClose(func() error { order = append(order, "last"); return nil })
	require.NoError(t, e.Close())
	require.Equal(t, []string{"last", "first"}, order)
	require.Zero(t, one.PID()+two.PID(), "a server runs on")
	require.NoDirExists(t, e.Dir)
	require.NoError(t, e.Close(), "once more")
	_, err = os.Stat(e.Dir)
	require.ErrorIs(t, err, os.ErrNotExist)
}
