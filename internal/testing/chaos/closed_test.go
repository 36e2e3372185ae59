package chaos

import (
	"net/http"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/testing/testservers"
	"example.com/seckill/internal/tools/servers"
)

func TestClosedShards_MachineLate_MayLastThatMuchLonger(t *testing.T) {
	var c closedShards
	c.within(time.Second, 0)
	c.longest[0] = 2 * time.Second
	require.Len(t, c.problems(), 1)
	c.late = time.Second
	require.Empty(t, c.problems())
	c.longest[0]++
	require.Len(t, c.problems(), 1)

	c.within(0, 1)
	c.refused[1] = 1
	require.Len(t, c.problems(), 2, "of a shard that may not be closed no buyer is refused, however late the machine is")
}

func TestClosedShards_NoLock_IgnoresFenceRejections(t *testing.T) {
	c := closedShards{overtaken: true}
	c.within(0, 0, 1, 2, 3)
	began := time.Now()
	c.answered(1, answer{code: "unavailable", asked: began})
	c.answered(1, answer{status: http.StatusCreated, asked: began.Add(1)})
	require.Empty(t, c.problems())

	c.answered(1, answer{code: "unavailable", asked: began.Add(-2 * closedWithin)})
	c.answered(1, answer{status: http.StatusCreated, asked: began})
	require.Len(t, c.problems(), 1, "a shard that was closed was not closed by the fence")
}

func TestMachineLatency_PlainCommand_MeasuresIt(t *testing.T) {
	testservers.Need(t, testservers.Servers)
	one, err := servers.StartMasters(t.Context(), t.TempDir(), 1)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, one.Stop()) })
	nodes := redis.NewClusterClient(&redis.ClusterOptions{Addrs: one.Addrs()})
	t.Cleanup(func() { require.NoError(t, nodes.Close()) })
	var c closedShards
	end := c.watchMachine(t.Context(), nodes)
	late := func() time.Duration {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.late
	}
	require.Eventually(t, func() bool { return late() > 0 }, time.Minute, time.Millisecond, "it answers")
	const pause = time.Second
	require.NoError(t, one.Nodes()[0].Pause())
	time.Sleep(pause)
	require.NoError(t, one.Nodes()[0].Resume())
	require.Eventually(t, func() bool { return late() > pause/2 }, time.Minute, time.Millisecond)
	end()
	at := late()
	require.NoError(t, one.Nodes()[0].Pause())
	time.Sleep(2 * plainEvery)
	require.NoError(t, one.Nodes()[0].Resume())
	require.Equal(t, at, late(), "it has ended")
}
