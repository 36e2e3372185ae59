package locktest

import (
	"context"
	"errors"
	"runtime/pprof"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/lock"
)

// spy counts the calls that a Locker makes: renewals as they begin, since one that is under way when its lease
// is lost ends after it, and the others as they end.
type spy struct {
	lock.Backend
	acquires, renews, releases, failedRenews atomic.Int64
}

func (s *spy) Acquire(ctx context.Context, key, token string, lease time.Duration) (lock.Grant, error) {
	defer s.acquires.Add(1)
	return s.Backend.Acquire(ctx, key, token, lease)
}

func (s *spy) AcquireInTurn(ctx context.Context, key, token string, lease time.Duration) (lock.Grant, error) {
	q, ok := s.Backend.(lock.FairBackend)
	if !ok {
		return s.Acquire(ctx, key, token, lease)
	}
	defer s.acquires.Add(1)
	return q.AcquireInTurn(ctx, key, token, lease)
}

func (s *spy) Renew(ctx context.Context, key, token string, lease time.Duration) error {
	s.renews.Add(1)
	err := s.Backend.Renew(ctx, key, token, lease)
	if err != nil && !errors.Is(err, lock.ErrNotHeld) {
		s.failedRenews.Add(1)
	}
	return err
}

func (s *spy) Release(ctx context.Context, key, token string) error {
	defer s.releases.Add(1)
	return s.Backend.Release(ctx, key, token)
}

func (s *spy) calls() int64 { return s.acquires.Load() + s.renews.Load() + s.releases.Load() }

// wakingSpy is a spy on a backend that can notify.
type wakingSpy struct {
	*spy
	lock.Notifier
}

// spied is a process whose calls are counted.
func (s suite) spied(t testing.TB, addr string, changes ...func(*lock.Options)) (*lock.Locker, *spy) {
	t.Helper()
	sp := &spy{}
	with := s
	with.Dial = func(t testing.TB, addr string) lock.Backend {
		sp.Backend = s.Dial(t, addr)
		if n, ok := sp.Backend.(lock.Notifier); ok {
			return wakingSpy{sp, n}
		}
		return sp
	}
	return with.lockerAt(t, addr, changes...), sp
}

// queued waits until n goroutines of this group stand in local queues.
func (s suite) queued(t testing.TB, n int) {
	t.Helper()
	eventually(t, func() bool { return s.goroutines(t, "lock.(*queue).enter+") == n }, maxWait, time.Millisecond, "%d goroutines should be queueing", n)
}

// goroutines returns how many goroutines of this group are in a function. After the first
// line of a profile each paragraph begins with how many goroutines have the stack and the
// labels that follow.
func (s suite) goroutines(t testing.TB, in string) (n int) {
	t.Helper()
	var text strings.Builder
	require.NoError(t, pprof.Lookup("goroutine").WriteTo(&text, 1))
	_, profile, _ := strings.Cut(text.String(), "\n")
	for stack := range strings.SplitSeq(profile, "\n\n") {
		if !strings.Contains(stack, in) || !strings.Contains(stack, strconv.Quote(s.group)) {
			continue
		}
		count, _, _ := strings.Cut(strings.TrimSpace(stack), " ")
		if many, err := strconv.Atoi(count); err == nil {
			n += many
		}
	}
	return n
}
