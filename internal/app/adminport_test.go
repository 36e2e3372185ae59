package app

import (
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/config"
)

func TestListenAdmin_DefaultPortTaken_EmbeddedTakesAFreeOne(t *testing.T) {
	var lc net.ListenConfig
	embedded := config.Default()
	first, err := listenAdmin(t.Context(), lc, embedded) // or it is taken by another program already
	require.NoError(t, err)
	defer func() { require.NoError(t, first.Close()) }()
	second, err := listenAdmin(t.Context(), lc, embedded)
	require.NoError(t, err)
	defer func() { require.NoError(t, second.Close()) }()
	require.NotEqual(t, embedded.Admin.Addr, second.Addr().String())

	onServers := embedded
	onServers.MySQL.DSN, onServers.Redis.Addrs = "u@tcp(db)/d", []string{"redis:6379"}
	_, err = listenAdmin(t.Context(), lc, onServers)
	require.Error(t, err, "a port that a deployment relies on")

	chosen := embedded
	chosen.Admin.Addr = second.Addr().String()
	_, err = listenAdmin(t.Context(), lc, chosen)
	require.Error(t, err, "a port that the user chose")
}
