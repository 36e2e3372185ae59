package zklock

import (
	"context"
	"fmt"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/lock"
	"example.com/seckill/internal/testing/testservers"
)

func TestSessions_Full_EvictsTheLeastRecentlyUsed(t *testing.T) {
	b := dial(t, testservers.ZooKeeper(t).Addr())
	length := func(i int) time.Duration { return 8*time.Second + time.Duration(i)*time.Millisecond }
	acquire := func(i int) error {
		_, err := b.Acquire(t.Context(), t.Name()+length(i).String(), "token", length(i))
		return err
	}
	release := func(i int) error { return b.Release(t.Context(), t.Name()+length(i).String(), "token") }
	for i := range maxSessions {
		require.NoError(t, acquire(i))
	}
	require.ErrorContains(t, acquire(maxSessions), "at once")
	require.NoError(t, release(3))
	require.NoError(t, release(5))
	require.NoError(t, acquire(maxSessions), "in place of the fourth")
	b.mu.Lock()
	fourth, sixth := b.sessions[length(3)], b.sessions[length(5)]
	b.mu.Unlock()
	require.Nil(t, fourth)
	require.NotNil(t, sixth)
	for i := range maxSessions + 1 {
		if i != 3 && i != 5 {
			require.NoError(t, release(i))
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range b.sessions {
		require.Zero(t, s.users)
	}
}

// The library sets its watches again on a new connection, and reads for that what its
// reader of answers writes. The race detector sees it if answers come first.
func TestReconnect_Watches_AreSetBeforeAnswersAreRead(t *testing.T) {
	addr := testservers.ZooKeeper(t).Addr()
	o, b := observe(t, addr), dial(t, addr)
	const lease = 30 * time.Second // a busy machine may take ten for what comes now
	l := locker(t, b, lease)
	held := make([]*lock.Lease, 8)
	var waiters []<-chan error
	for i := range held {
		key := fmt.Sprint(t.Name(), i)
		h, err := l.Acquire(t.Context(), key)
		require.NoError(t, err)
		held[i] = h
		waiters = append(waiters, waiting(t, o, b, lease, key, 0))
	}
	ctx, stop := context.WithCancel(t.Context())
	var busy sync.WaitGroup
	for i := range 4 {
		busy.Go(func() {
			for ctx.Err() == nil {
				if h, err := l.Acquire(ctx, fmt.Sprint(t.Name(), "busy", i)); err == nil {
					_ = h.Release(ctx)
				}
			}
		})
	}
	b.mu.Lock()
	s := b.sessions[lease]
	b.mu.Unlock()
	for range 240 {
		s.conns.mu.Lock()
		_ = s.conns.conn.Close()
		s.conns.mu.Unlock()
		time.Sleep(5 * time.Millisecond)
	}
	stop()
	busy.Wait()
	for i, h := range held {
		require.Eventually(t, func() bool { return h.Release(t.Context()) == nil }, soon, 10*time.Millisecond)
		arrives(t, waiters[i])
	}
}

func TestReconnect_WatchesBeingSet_HoldsBackFirstAnswer(t *testing.T) {
	for name, c := range map[string]struct {
		watches bool
		first   time.Duration
	}{"watches": {true, watchesWithin}, "none": {false, 0}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server, client := net.Pipe()
				defer func() { _ = server.Close() }()
				m := newConnManager([]string{"server"}, nil, func(error) {})
				m.watches.Store(c.watches)
				conn := &trackedConn{Conn: m.Track(client), manager: m}
				go func() {
					for _, answer := range []int{greetingEnds, 1, 1} {
						_, _ = server.Write(make([]byte, answer))
					}
				}()
				for i, want := range []time.Duration{0, c.first, 0} {
					began := time.Now()
					_, err := conn.Read(make([]byte, greetingEnds))
					require.NoError(t, err)
					require.Equal(t, want, time.Since(began), "read %d", i)
				}
			})
		})
	}
}
