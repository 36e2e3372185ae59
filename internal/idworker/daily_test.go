package idworker

import (
	"context"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/testing/testservers"
)

func TestDailyID_GoroutinesAndInstances_AreUnique(t *testing.T) {
	mini := miniredis.RunT(t)
	for name, addr := range map[string]string{
		"on Redis":               testservers.NewRedis(t).Addr(),
		"on the embedded server": mini.Addr(),
	} {
		t.Run(name, func(t *testing.T) {
			a, b := NewDaily(newProcess(t, addr).client, ""), NewDaily(newProcess(t, addr).client, "")
			requireUnique(t, []func(context.Context) (int64, error){a.Next, b.Next}, 8, 200)
		})
	}
}

func TestDailyID_Next_IsServerSecondAndDailyCount(t *testing.T) {
	for name, at := range map[string]time.Time{
		"an ordinary day":         time.Date(2026, 11, 21, 5, 0, 0, 0, time.UTC),
		"the first second":        time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
		"the last second":         time.Date(2026, 12, 31, 23, 59, 59, 0, time.UTC),
		"a leap day":              time.Date(2028, 2, 29, 12, 0, 0, 0, time.UTC),
		"the day after it":        time.Date(2028, 3, 1, 0, 0, 0, 0, time.UTC),
		"a year without leap day": time.Date(2025, 2, 28, 23, 59, 59, 0, time.UTC),
	} {
		t.Run(name, func(t *testing.T) {
			mini := miniredis.RunT(t)
			mini.SetTime(at)
			d := NewDaily(newProcess(t, mini.Addr()).client, "")
			for n := int64(1); n <= 3; n++ {
				id, err := d.Next(t.Context())
				require.NoError(t, err)
				require.Equal(t, (at.Unix()-Epoch.Unix())<<32|n, id)
			}
			keys := mini.Keys()
			require.Equal(t, []string{"seckill:{id}:" + at.Format("20060102")}, keys)
			require.Equal(t, 72*time.Hour, mini.TTL(keys[0]))
		})
	}
}

func TestDailyID_Cluster_Works(t *testing.T) {
	client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: testservers.Cluster(t).Addrs(), MaxRetries: -1})
	defer func() { require.NoError(t, client.Close()) }()
	id, err := NewDaily(client, "").Next(t.Context())
	require.NoError(t, err)
	require.Positive(t, id)
	require.False(t, strings.HasPrefix(strconv.FormatInt(id, 10), "-"))
}

// A day's counter goes on where its slot is moved to, and is made nowhere else.
func TestDailyID_SlotMigrating_CountsOn(t *testing.T) {
	cluster := testservers.Cluster(t)
	client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: cluster.Addrs(), MaxRetries: -1})
	defer func() { require.NoError(t, client.Close()) }()
	d := NewDaily(client, "moved:")
	next := func(want int64) {
		t.Helper()
		id, err := d.Next(t.Context())
		require.NoError(t, err)
		require.Equal(t, want, id&math.MaxUint32)
	}
	next(1)
	keys := d.name + strconv.FormatInt(d.today.Load(), 10)
	from, slot, err := cluster.Owner(t.Context(), keys)
	require.NoError(t, err)
	masters, err := cluster.Masters(t.Context())
	require.NoError(t, err)
	to := masters[0]
	if to == from {
		to = masters[1]
	}
	require.NoError(t, cluster.OpenSlot(t.Context(), slot, from, to))
	next(2)
	require.NoError(t, cluster.MoveSlot(t.Context(), slot, from, to))
	next(3)
}

func BenchmarkDaily(b *testing.B) {
	d := NewDaily(newProcess(b, testservers.Redis(b).Addr()).client, "")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := d.Next(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}
