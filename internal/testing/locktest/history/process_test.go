package history

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/lock"
)

// scripted grants every acquire and answers releases as it was told.
type scripted struct {
	lock.Backend
	fence    uint64
	releases []error
}

func (s *scripted) Acquire(context.Context, string, string, time.Duration) (lock.Grant, error) {
	s.fence++
	return lock.Grant{Fence: s.fence}, nil
}

func (s *scripted) Release(context.Context, string, string) error {
	answer := s.releases[0]
	s.releases = s.releases[1:]
	return answer
}

// A release whose answer was lost may have freed the key. When its holder asks again only
// after the lease is over, it is told "not held", and so it says; somebody else may have
// come in long before.
func TestHistory_ReleaseWithoutAnswer_MayHaveFreedKey(t *testing.T) {
	lost := errors.New("the reply was lost")
	for name, tc := range map[string]struct {
		want     bool
		releases []error
	}{
		"its answer was lost":                   {true, []error{lost, lock.ErrNotHeld}},
		"nothing was asked before":              {false, []error{lock.ErrNotHeld}},
		"nothing was asked at all":              {false, nil},
		"two answers were lost and none coming": {true, []error{lost, lost}},
	} {
		t.Run(name, func(t *testing.T) {
			b, ctx := newBook(Exceptions{}), t.Context()
			p, backend := newProcess(&scripted{releases: tc.releases}, b, 0)
			acquire := func(token string) int64 {
				call := time.Now()
				grant, err := backend.Acquire(ctx, "a", token, time.Minute)
				require.NoError(t, err)
				fence := int64(grant.Fence)
				b.change(tenureID{"a", fence}, func(t *tenure) { t.claimed = true })
				b.note(0, event{acquired, "a", fence}, call, time.Now())
				return fence
			}
			first := acquire("one")
			for range tc.releases {
				call := time.Now()
				if errors.Is(p.Release(ctx, "a", "one"), lock.ErrNotHeld) {
					b.note(0, event{notHeld, "a", first}, call, time.Now())
				}
			}
			acquire("two")
			require.Equal(t, tc.want, porcupine.CheckOperations(model, b.close(time.Minute)))
		})
	}
}

// Fences count by the clock, for each key alone: two keys may be given the same one.
func TestHistory_SameFenceOfTwoKeys_LeasesEndSeparately(t *testing.T) {
	b, ctx, server := newBook(Exceptions{}), t.Context(), &scripted{}
	_, backend := newProcess(server, b, 0)
	const lease = 10 * time.Millisecond
	acquire := func(key string, fence uint64) {
		call := time.Now()
		server.fence = fence - 1
		grant, err := backend.Acquire(ctx, key, key, lease)
		require.NoError(t, err)
		require.Equal(t, fence, grant.Fence)
		b.change(tenureID{key, int64(fence)}, func(t *tenure) { t.claimed = true })
		b.note(0, event{acquired, key, int64(fence)}, call, time.Now())
	}
	for _, fence := range []uint64{7, 8} {
		acquire("a", fence)
		acquire("b", fence)
		time.Sleep(lease)
	}
	require.True(t, porcupine.CheckOperations(model, b.close(lease)))
}
