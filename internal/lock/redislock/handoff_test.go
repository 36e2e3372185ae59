package redislock

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/lock"
	"example.com/seckill/internal/testing/testservers"
)

func TestHandoff_Repeated_ReturnsSameGrantWithNextFence(t *testing.T) {
	t.Parallel()
	b := New(dialed(t, testservers.Redis(t).Addr()), Options{})
	ctx, key := t.Context(), "user:2000001"
	first, err := b.Acquire(ctx, key, "first", time.Minute)
	require.NoError(t, err)
	second, err := b.Handoff(ctx, key, "first", "second", time.Minute)
	require.NoError(t, err)
	require.Greater(t, second.Fence, first.Fence)
	require.False(t, second.Awaited)
	again, err := b.Handoff(ctx, key, "first", "second", time.Minute)
	require.NoError(t, err)
	require.Equal(t, second, again)
	asked, err := b.Acquire(ctx, key, "second", time.Minute)
	require.NoError(t, err)
	require.Equal(t, second.Fence, asked.Fence)

	_, err = b.Handoff(ctx, key, "first", "third", time.Minute)
	require.ErrorIs(t, err, lock.ErrNotHeld, "it is the second's")
	require.ErrorIs(t, b.Release(ctx, key, "first"), lock.ErrNotHeld)
	require.NoError(t, b.Release(ctx, key, "second"))
	_, err = b.Handoff(ctx, key, "second", "third", time.Minute)
	require.ErrorIs(t, err, lock.ErrNotHeld, "it is free")
	require.ErrorIs(t, b.Release(ctx, key, "third"), lock.ErrNotHeld)
}

func TestHandoff_NextHolder_HasItsOwnLease(t *testing.T) {
	t.Parallel()
	client := dialed(t, testservers.Redis(t).Addr())
	b := New(client, Options{})
	ctx, key := t.Context(), "user:2000002"
	_, err := b.Acquire(ctx, key, "first", time.Second)
	require.NoError(t, err)
	for range 2 { // also when it is asked for again
		_, err = b.Handoff(ctx, key, "first", "second", time.Minute)
		require.NoError(t, err)
		require.Greater(t, client.PTTL(ctx, namesOf(key).lock).Val(), 50*time.Second)
		require.NoError(t, client.PExpire(ctx, namesOf(key).lock, time.Second).Err())
	}
	require.NoError(t, b.Release(ctx, key, "second"))
}

func TestPass_KeyPassedTwice_FinalReleaseNotifiesWaiter(t *testing.T) {
	t.Parallel()
	b := New(dialed(t, testservers.Redis(t).Addr()), Options{})
	ctx, key := t.Context(), "user:2000003"
	freed, cancel, err := b.Subscribe(ctx, key, "waiter")
	require.NoError(t, err)
	defer cancel()
	_, err = b.Acquire(ctx, key, "first", time.Minute)
	require.NoError(t, err)
	_, err = b.AcquireInTurn(ctx, key, "waiter", time.Minute)
	require.ErrorIs(t, err, lock.ErrHeld)
	for _, next := range []string{"second", "third"} {
		grant, err := b.Handoff(ctx, key, map[string]string{"second": "first", "third": "second"}[next], next, time.Minute)
		require.NoError(t, err)
		require.True(t, grant.Awaited)
	}
	require.Empty(t, freed, "it was never free")
	require.NoError(t, b.Release(ctx, key, "third"))
	select {
	case <-freed:
	case <-time.After(5 * time.Second):
		t.Fatal("no message")
	}
}

func TestHandoff_FairModeOrReplicas_IsUnsupported(t *testing.T) {
	t.Parallel()
	for _, o := range []Options{{Fair: true}, {Replicas: 1}} {
		b := New(dialed(t, testservers.Redis(t).Addr()), o)
		_, err := b.Handoff(t.Context(), "user:2000004", "first", "second", time.Minute)
		require.ErrorIs(t, err, errors.ErrUnsupported)
	}
}

func TestHandoff_ReadOnlyServer_FreesKey(t *testing.T) {
	t.Parallel()
	client := dialed(t, testservers.NewRedis(t).Addr())
	b := New(client, Options{})
	ctx, key := t.Context(), "user:2000005"
	_, err := b.Acquire(ctx, key, "first", time.Minute)
	require.NoError(t, err)
	require.NoError(t, client.ConfigSet(ctx, "maxmemory", "1").Err())
	_, err = b.Handoff(ctx, key, "first", "second", time.Minute)
	require.ErrorIs(t, err, errors.ErrUnsupported)
	require.NoError(t, b.Release(ctx, key, "first"))
}

func TestHandoff_SameProcess_IsOneCommandPerSection(t *testing.T) {
	t.Parallel()
	const callers, sections = 16, 10
	client := dialed(t, testservers.NewRedis(t).Addr())
	for name, wants := range map[string]struct {
		o       Options
		atLeast int
		atMost  int
	}{
		"passed": {Options{}, callers * sections, callers * sections * 11 / 10},
		"fair":   {Options{Fair: true}, callers * sections * 2, callers * sections * 4},
	} {
		l, err := lock.New(New(client, wants.o), lock.Options{Lease: time.Minute, Wait: time.Minute})
		require.NoError(t, err)
		require.NoError(t, client.ConfigResetStat(t.Context()).Err())
		contend(t, callers, sections, l)
		require.NoError(t, l.Close(t.Context()))
		require.GreaterOrEqual(t, scriptCalls(t, client), wants.atLeast, name)
		require.LessOrEqual(t, scriptCalls(t, client), wants.atMost, name)
	}
}

func TestHandoff_SeveralProcesses_LetEachOtherIn(t *testing.T) {
	t.Parallel()
	const callers, sections = 8, 10
	client := dialed(t, testservers.NewRedis(t).Addr())
	var processes []*lock.Locker
	for range 4 {
		l, err := lock.New(New(client, Options{}), lock.Options{Lease: time.Minute, Wait: time.Minute})
		require.NoError(t, err)
		processes = append(processes, l)
	}
	require.NoError(t, client.ConfigResetStat(t.Context()).Err())
	by := contend(t, callers, sections, processes...)
	for _, l := range processes {
		require.NoError(t, l.Close(t.Context()))
	}
	require.LessOrEqual(t, scriptCalls(t, client), len(processes)*callers*sections*5/2)

	longest, inARow := 0, 0
	for i, p := range by[:len(by)/2] { // while all want it
		if inARow++; i > 0 && by[i-1] != p {
			inARow = 1
		}
		longest = max(longest, inARow)
	}
	t.Logf("the longest turn of a process: %d", longest)
	require.LessOrEqual(t, longest, 40)
}

// contend has callers of each process take a key, all at once, and returns in which order the
// processes had it.
func contend(t *testing.T, callers, sections int, processes ...*lock.Locker) (order []int) {
	t.Helper()
	inside := false // guarded by the lock, as order is
	var all sync.WaitGroup
	for p, l := range processes {
		for range callers {
			all.Go(func() {
				for range sections {
					assert.NoError(t, l.Do(t.Context(), "user:2000006", func(context.Context, *lock.Lease) error {
						assert.False(t, inside)
						inside = true
						order = append(order, p)
						time.Sleep(time.Millisecond)
						inside = false
						return nil
					}))
				}
			})
		}
	}
	all.Wait()
	require.Len(t, order, len(processes)*callers*sections)
	return order
}

func scriptCalls(t testing.TB, c redis.UniversalClient) int {
	t.Helper()
	_, after, _ := strings.Cut(c.Info(t.Context(), "commandstats").Val(), "cmdstat_evalsha:calls=")
	calls, _, _ := strings.Cut(after, ",")
	n, err := strconv.Atoi(calls)
	require.NoError(t, err)
	return n
}
