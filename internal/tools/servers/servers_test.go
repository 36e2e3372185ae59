package servers_test

import (
	"context"
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/platform/system"
	"example.com/seckill/internal/testing/testservers"
	"example.com/seckill/internal/tools/servers"
)

const (
	soon = 10 * time.Second
	tick = 20 * time.Millisecond
)

// server is what every kind of server can do.
type server interface {
	Addr() string
	PID() int
	Stop() error
	Kill() error
	Pause() error
	Resume() error
	Restart(ctx context.Context) error
}

func TestServer_EveryKindOfEnd_KeepsDataAndAddress(t *testing.T) {
	for name, k := range keepers(t) {
		t.Run(name, func(t *testing.T) {
			for end, do := range map[string]func() error{
				"restart": func() error { return nil },
				"stop":    k.Stop,
				"kill":    k.Kill,
				"kill while paused": func() error {
					require.NoError(t, k.Pause())
					return k.Kill()
				},
				"stop while paused": func() error {
					require.NoError(t, k.Pause())
					return k.Stop()
				},
			} {
				t.Run(end, func(t *testing.T) {
					addr, pid := k.Addr(), k.PID()
					require.NoError(t, k.write(t.Context(), end))
					require.NoError(t, do())
					require.NoError(t, k.Restart(t.Context()))
					word, err := k.read(t.Context())
					require.NoError(t, err)
					assert.Equal(t, end, word)
					assert.Equal(t, addr, k.Addr())
					assert.NotEqual(t, pid, k.PID())
				})
			}
		})
	}
}

func TestServer_Paused_AnswersAfterResume(t *testing.T) {
	for name, k := range keepers(t) {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, k.write(t.Context(), "before"))
			require.NoError(t, k.Pause())
			answered := make(chan error, 1)
			go func() { answered <- k.write(t.Context(), "after") }()
			select {
			case err := <-answered:
				t.Fatal("answered while it was paused:", err)
			case <-time.After(200 * time.Millisecond): // it has this long to get it wrong
			}
			require.NoError(t, k.Resume())
			require.NoError(t, <-answered)
			word, err := k.read(t.Context())
			require.NoError(t, err)
			assert.Equal(t, "after", word)
		})
	}
}

func TestServer_StopOrKill_LeavesNoProcess(t *testing.T) {
	for name, k := range keepers(t) {
		for end, do := range map[string]func() error{"stop": k.Stop, "kill": k.Kill} {
			t.Run(name+" "+end, func(t *testing.T) {
				require.NoError(t, k.Restart(t.Context()))
				pid := k.PID()
				require.NoError(t, do())
				assert.False(t, alive(pid))
				assert.Zero(t, k.PID())
				require.NoError(t, do(), "a second time")
				require.ErrorIs(t, k.Pause(), servers.ErrNotRunning)
				require.ErrorIs(t, k.Resume(), servers.ErrNotRunning)
			})
		}
	}
}

func TestServer_DiesByItself_IsNotRunning(t *testing.T) {
	r := testservers.NewRedis(t)
	require.NoError(t, system.SignalGroup(r.PID(), syscall.SIGKILL))
	require.Eventually(t, func() bool { return r.PID() == 0 }, soon, tick)
	require.NoError(t, r.Restart(t.Context()))
}

func TestStart_ProgramMissing_NamesItsPackage(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	for name, tc := range map[string]struct {
		start           func() error
		program, debian string
	}{
		"MariaDB":  {func() error { _, err := servers.StartMariaDB(t.Context(), t.TempDir()); return err }, "mariadbd", "mariadb-server"},
		"Redis":    {func() error { _, err := servers.StartRedis(t.Context(), t.TempDir()); return err }, "redis-server", "redis-server"},
		"Cluster":  {func() error { _, err := servers.StartCluster(t.Context(), t.TempDir()); return err }, "redis-cli", "redis-tools"},
		"Sentinel": {func() error { _, err := servers.StartSentinel(t.Context(), t.TempDir()); return err }, "redis-server", "redis-server"},
		"etcd":     {func() error { _, err := servers.StartEtcd(t.Context(), t.TempDir()); return err }, "etcd", "etcd-server"},
		"Java":     {func() error { _, err := servers.StartZooKeeper(t.Context(), t.TempDir()); return err }, "java", "default-jre-headless"},
	} {
		t.Run(name, func(t *testing.T) {
			var missing *servers.MissingError
			require.ErrorAs(t, tc.start(), &missing)
			assert.Equal(t, servers.MissingError{Program: tc.program, Package: tc.debian}, *missing)
			assert.ErrorContains(t, missing, "apt-get install "+tc.debian)
		})
	}
}

func TestStart_ServerFails_SaysWhyAndLeavesNothing(t *testing.T) {
	testservers.Need(t, testservers.Servers)
	nonsense := servers.Set("no-such-setting", "1")
	_, err := servers.StartRedis(t.Context(), t.TempDir(), nonsense)
	require.ErrorContains(t, err, "no-such-setting", "the log's end is in the error")
	_, err = servers.StartMariaDB(t.Context(), t.TempDir(), nonsense)
	require.ErrorContains(t, err, "no-such-setting", "the log's end is in the error")
	_, err = servers.StartEtcd(t.Context(), t.TempDir(), nonsense)
	require.ErrorContains(t, err, "no-such-setting", "the log's end is in the error")
	_, err = servers.StartZooKeeper(t.Context(), t.TempDir(), servers.Set("tickTime", "no number"))
	require.ErrorContains(t, err, "no number", "the log's end is in the error")
}

func TestStart_ContextEnds_EndsAndLeavesNothing(t *testing.T) {
	testservers.Need(t, testservers.Servers)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := servers.StartRedis(ctx, t.TempDir())
	require.ErrorIs(t, err, context.Canceled)
	_, err = servers.StartMariaDB(ctx, t.TempDir())
	require.ErrorIs(t, err, context.Canceled)
	_, err = servers.StartEtcd(ctx, t.TempDir())
	require.ErrorIs(t, err, context.Canceled)
	_, err = servers.StartZooKeeper(ctx, t.TempDir())
	require.ErrorIs(t, err, context.Canceled)
}

func TestStart_ForeignServerOnPort_IsNotMistaken(t *testing.T) {
	mine, other := testservers.NewRedis(t), testservers.NewRedis(t)
	require.NoError(t, mine.Kill())
	squat(t, other, mine.Addr())
	require.Error(t, mine.Restart(t.Context()))
	assert.Zero(t, mine.PID())
}

func TestMariaDB_PathTooLongForSocket_Starts(t *testing.T) {
	testservers.Need(t, testservers.Servers)
	dir := filepath.Join(t.TempDir(), strings.Repeat("long/", 30))
	m, err := servers.StartMariaDB(t.Context(), dir)
	require.NoError(t, err)
	require.NoError(t, m.Stop())
}

func TestMariaDB_EarlierData_StartsAgain(t *testing.T) {
	testservers.Need(t, testservers.Servers)
	dir := t.TempDir()
	first, err := servers.StartMariaDB(t.Context(), dir)
	require.NoError(t, err)
	name, err := first.CreateDatabase(t.Context())
	require.NoError(t, err)
	require.NoError(t, first.Stop())
	second, err := servers.StartMariaDB(t.Context(), dir)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, second.Stop()) })
	db, err := sql.Open("mysql", second.DSN(name))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	var flushed int
	require.NoError(t, db.QueryRowContext(t.Context(), "SELECT @@innodb_flush_log_at_trx_commit").Scan(&flushed))
	require.Equal(t, 1, flushed, "a commit is on disk before it is answered")
}

func TestMariaDB_Start_LeavesForeignTemporaryTables(t *testing.T) {
	testservers.Need(t, testservers.Servers)
	others := t.TempDir()
	t.Setenv("TMPDIR", others) // where a MariaDB looks for them if it has no place of its own
	var tables []string
	for _, end := range []string{".MAI", ".MAD"} {
		table := filepath.Join(others, "#sql-temptable-1-1-1"+end)
		require.NoError(t, os.WriteFile(table, nil, 0o600))
		tables = append(tables, table)
	}
	m, err := servers.StartMariaDB(t.Context(), filepath.Join(others, "data"))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, m.Stop()) })
	for _, table := range tables {
		assert.FileExists(t, table)
	}
}

func alive(pid int) bool {
	p, err := os.FindProcess(pid)
	return err == nil && p.Signal(syscall.Signal(0)) == nil
}
