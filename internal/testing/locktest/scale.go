package locktest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/lock"
)

// scaleEnv multiplies the keys and acquisitions of the scale group: with 2000, a million keys.
const scaleEnv = "LOCKTEST_SCALE"

// times returns the value of scaleEnv, or 1.
func times(t testing.TB) int {
	text := os.Getenv(scaleEnv)
	if text == "" {
		return 1
	}
	n, err := strconv.Atoi(text)
	require.NoError(t, err, scaleEnv)
	return max(n, 1)
}

// scale tests the cost and the remains of many keys, many acquisitions and many waiters.
func (s suite) scale(t *testing.T) {
	t.Run("of many keys the server keeps no more than is declared", func(t *testing.T) {
		if s.Kept == nil {
			return
		}
		keys := 500 * times(t)
		l := s.locker(t, s.patient)
		before, began := s.Kept(t), time.Now()
		s.inTurn(t, l, keys, min(16*times(t), 64), func(i int) string { return fmt.Sprintf("user:%d", 1_000_000+i) })
		kept, took := s.Kept(t)-before, time.Since(began)
		t.Logf("%d keys in %s: the server keeps %d things more", keys, took.Round(time.Millisecond), kept)
		if s.Purge == nil {
			// Some servers remove empty items after a while, a number of them per minute.
			ended := time.Now()
			eventually(t, func() bool { return s.Kept(t)-before <= s.KeptAtMost },
				time.Minute+time.Duration(keys/goneAMinute)*time.Minute, 20*time.Millisecond)
			t.Logf("%s later it keeps %d", time.Since(ended).Round(time.Millisecond), s.Kept(t)-before)
			return
		}
		require.LessOrEqual(t, kept, keys)
		s.Purge(t)
		require.LessOrEqual(t, s.Kept(t), before+s.KeptAtMost, "what is purged is gone")
		h := mustAcquire(t, l, "user:1000000")
		require.NoError(t, h.Release(t.Context()))
	})

	t.Run("many acquisitions leave no goroutine", func(t *testing.T) {
		l := s.locker(t, s.patient)
		some := func(n int) { s.inTurn(t, l, n, 8, func(i int) string { return fmt.Sprintf("user:%d", i%64) }) }
		some(500) // connections, buffers and buckets are made
		before := s.goroutines(t, "")
		some(1000 * times(t))
		eventually(t, func() bool { return s.goroutines(t, "") <= before+spare }, 20*time.Second, 10*time.Millisecond)
	})

	t.Run("hundreds of waiters of one key with random budgets all return in time and leave nothing", func(t *testing.T) {
		const waiters, longest = 500, 800 * time.Millisecond
		key := aKey()
		processes := []*lock.Locker{s.connected(t, key), s.connected(t, key), s.connected(t, key), s.connected(t, key)}
		var all sync.WaitGroup
		var got, gaveUp atomic.Int64
		var inside atomic.Int32
		for i := range waiters {
			all.Go(func() {
				budget := rand.N(longest)
				began := time.Now()
				h, err := processes[i%len(processes)].Acquire(t.Context(), key, lock.WithWait(budget))
				// The budget bounds the wait. A call in progress has its own timeout.
				assert.Less(t, time.Since(began), budget+5*time.Second)
				if err != nil {
					assert.ErrorIs(t, err, lock.ErrNotAcquired) //nolint:testifylint // not the test's goroutine
					gaveUp.Add(1)
					return
				}
				got.Add(1)
				assert.EqualValues(t, 1, inside.Add(1), "two hold it")
				time.Sleep(rand.N(2 * time.Millisecond))
				inside.Add(-1)
				if err := h.Release(t.Context()); !errors.Is(err, lock.ErrLost) {
					assert.NoError(t, err)
				}
			})
		}
		all.Wait()
		require.EqualValues(t, waiters, got.Load()+gaveUp.Load())
		require.Positive(t, got.Load())
		s.isLeftFree(t, key)
	})

	t.Run("no process is starved while others take the key again and again", func(t *testing.T) {
		const processes, loops, enough = 4, 2, 25
		key := aKey()
		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		defer stop()
		var sections [processes]atomic.Int64
		var all sync.WaitGroup
		for p := range processes {
			l := s.connected(t, key, wait(time.Minute))
			for range loops {
				all.Go(func() {
					for ctx.Err() == nil {
						h, err := l.Acquire(ctx, key)
						if errors.Is(err, lock.ErrUnavailable) {
							continue // the machine is busy, or ctx has ended
						}
						if err != nil {
							assert.ErrorIs(t, err, context.Canceled)
							return
						}
						time.Sleep(time.Millisecond)
						sections[p].Add(1)
						if err := h.Release(t.Context()); !errors.Is(err, lock.ErrUnavailable) {
							assert.NoError(t, err)
						}
					}
				})
			}
		}
		spread := func() (least, most int64) {
			least = sections[0].Load()
			for p := range sections {
				least, most = min(least, sections[p].Load()), max(most, sections[p].Load())
			}
			return least, most
		}
		began := time.Now()
		eventually(t, func() bool { n, _ := spread(); return n >= enough }, 50*time.Second, 5*time.Millisecond, "a process is starved")
		few, many := spread()
		t.Logf("after %s the busiest process had %d sections and the one with the fewest %d",
			time.Since(began).Round(time.Millisecond), many, few)
		stop()
		all.Wait()
		if s.Line != nil {
			require.Less(t, many, int64(fair*enough))
		}
		s.isLeftFree(t, key)
	})
}

const (
	// goneAMinute is the least number of empty keys that a server removes in a minute.
	goneAMinute = 8000
	// fair is the largest allowed ratio between the sections of two processes in fair mode.
	fair = 3
	// spare is how many more goroutines than before a client's pools may have. A leak of one goroutine per
	// acquisition would exceed it by far.
	spare = 50
)

// patient sets long times for a busy machine: these tests count things and measure no time.
func (s suite) patient(o *lock.Options) { o.Lease, o.Timeout = s.scaled(time.Minute), 20*time.Second }

// inTurn acquires and releases n keys, atOnce of them at a time.
func (s suite) inTurn(t testing.TB, l *lock.Locker, n, atOnce int, key func(int) string) {
	t.Helper()
	var next atomic.Int64
	var all sync.WaitGroup
	for range atOnce {
		all.Go(func() {
			for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
				h, err := l.Acquire(t.Context(), key(int(i)), lock.WithWait(time.Minute))
				if assert.NoError(t, err) {
					assert.NoError(t, h.Release(t.Context()))
				}
			}
		})
	}
	all.Wait()
}
