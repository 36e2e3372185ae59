package zklock

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"seckill/internal/servers/testservers"
)

func TestTheSessionThatWasWithoutUseForLongestMakesRoomForAnother(t *testing.T) {
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
