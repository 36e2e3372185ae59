package servers

import (
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// needRedis is testservers.Need, which imports this package.
func needRedis(t *testing.T) {
	t.Helper()
	if err := LookRedis(); err != nil || testing.Short() {
		t.Skip("-short leaves out what needs a server")
	}
}

func TestServer_OtherProcessID_IsNotMistaken(t *testing.T) {
	needRedis(t)
	r, err := StartRedis(t.Context(), t.TempDir())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.Stop()) })
	require.NoError(t, r.serves(t.Context(), r.PID()))
	require.Error(t, r.serves(t.Context(), r.PID()+1))

	require.NoError(t, listens(r.PID(), r.Addr()))
	require.Error(t, listens(r.PID(), addrOf(firstPort-1)))
	require.Error(t, listens(os.Getpid(), r.Addr()))

	file := filepath.Join(t.TempDir(), "my.pid")
	require.Error(t, hasPID(file, 42), "not written yet")
	require.NoError(t, os.WriteFile(file, []byte("42\n"), 0o600))
	require.NoError(t, hasPID(file, 42))
	require.Error(t, hasPID(file, 43), "left by an earlier one")
}

func TestStart_PortTakenMeanwhile_TriesAnother(t *testing.T) {
	var tried []int
	got, err := onFreePorts(t.Context(), 1, func(ports []int) (int, error) {
		tried = append(tried, ports[0])
		if len(tried) < portTries {
			return 0, errPortTaken
		}
		return ports[0], nil
	})
	require.NoError(t, err)
	require.Len(t, tried, portTries)
	require.Equal(t, tried[portTries-1], got)
}

// The servers of another process may be down, and start again on their ports.
func TestPorts_ClaimedByAnotherProcess_AreNotTaken(t *testing.T) {
	ports, err := freePorts(t.Context(), 1)
	require.NoError(t, err)
	_, err = claimPort(t.Context(), ports[0])
	require.Error(t, err, "it is this process's, and nothing listens on it")
	other, err := claimPort(t.Context(), 1) // as another process does
	require.NoError(t, err)
	claimed.Lock()
	defer claimed.Unlock()
	require.False(t, claim(t.Context(), 1))
	require.NoError(t, other.Close())
	require.True(t, claim(t.Context(), 1), "that process has ended")
	require.NoError(t, claimed.ports[1].Close())
	delete(claimed.ports, 1)
}

func TestPortTaken_ServerOutput_IsRecognised(t *testing.T) {
	needRedis(t)
	r, err := StartRedis(t.Context(), t.TempDir())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.Stop()) })
	_, port, err := net.SplitHostPort(r.Addr())
	require.NoError(t, err)
	_, err = StartRedis(t.Context(), t.TempDir(), Set("port", port))
	require.ErrorIs(t, err, errPortTaken)
	_, err = StartMariaDB(t.Context(), t.TempDir(), Set("port", port))
	require.ErrorIs(t, err, errPortTaken)
	_, err = StartEtcd(t.Context(), t.TempDir(), Set("listen-client-urls", "http://"+r.Addr()))
	require.ErrorIs(t, err, errPortTaken)
	_, err = StartZooKeeper(t.Context(), t.TempDir(), Set("clientPort", port))
	require.ErrorIs(t, err, errPortTaken)
}
