package redlock

import (
	"context"
	"crypto/rand"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/testing/faultnet"
	"example.com/seckill/internal/testing/testservers"
)

// A new connection takes several journeys here, and so longer than a node may take to answer.
func TestVotes_NetworkSlowerThanTimeout_AreTakenBack(t *testing.T) {
	_, clients, addrs := startNodes(t, 3)
	p := testservers.Proxy(t, addrs)
	far := dialAll(t, p.Addr())
	b := backend(t, far, Options{NodeTimeout: 100 * time.Millisecond})
	for _, c := range far {
		require.NoError(t, c.Ping(t.Context()).Err())
	}
	key := rand.Text()
	_, err := b.Acquire(t.Context(), rand.Text(), "warm", time.Second) // the script is known from here on
	require.NoError(t, err)
	defer p.Inject(faultnet.DelayRequests(300 * time.Millisecond))()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err = b.Acquire(ctx, key, "token", minute)
	require.Error(t, err)
	got := func() string { return strings.Join(values(t, clients, key), "") }
	require.Eventually(t, func() bool { return got() != "" }, 10*time.Second, time.Millisecond, "the votes arrive late")
	require.Eventually(t, func() bool { return got() == "" }, 10*time.Second, time.Millisecond)
}

func TestVotes_LateVote_DoesNotEndALaterCall(t *testing.T) {
	_, clients, _ := startNodes(t, 3)
	b := backend(t, clients, Options{})
	_, err := b.Acquire(t.Context(), "user:1", "token", minute)
	require.NoError(t, err)
	earlier := b.asked.Load()
	_, err = b.Acquire(t.Context(), "user:1", "token", minute)
	require.NoError(t, err)
	free := func(question uint64) vote {
		return ask(t.Context(), b.nodes[0], releaseScript, b.nameOf("user:1"), []any{"token", question})
	}
	require.Equal(t, "free", free(earlier).says)
	require.Equal(t, "kept", ask(t.Context(), b.nodes[0], acquireScript, b.nameOf("user:1"), []any{"token", 60_000, earlier}).says)
	require.Equal(t, "free", free(earlier).says, "a question that comes late does not lower the number")
	require.Equal(t, []string{"token", "token", "token"}, values(t, clients, "user:1"))
	require.Equal(t, "kept", free(b.asked.Load()).says)
}
