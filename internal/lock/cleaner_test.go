package lock_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/lock"
)

var errNoAnswer = errors.New("no answer")

// cleanups records the tries of a Cleaner. Keys that begin with "silent" have no answer for a
// second, whether or not the try is cancelled.
type cleanups struct {
	mu    sync.Mutex
	first map[string]time.Duration // after the start, by key
	begun time.Time
	late  int // tries for keys whose lease was over
	lease time.Duration
}

func newCleanups(lease time.Duration) *cleanups {
	return &cleanups{first: map[string]time.Duration{}, begun: time.Now(), lease: lease}
}

func (c *cleanups) free(_ context.Context, key, _ string) error {
	c.mu.Lock()
	since := time.Since(c.begun)
	if _, known := c.first[key]; !known {
		c.first[key] = since
	}
	if since >= c.lease {
		c.late++
	}
	c.mu.Unlock()
	if strings.HasPrefix(key, "silent") {
		time.Sleep(second)
		return errNoAnswer
	}
	return nil
}

func serverOfTest(key string) string {
	server, _, _ := strings.Cut(key, " ")
	return server
}

// inCleanupBubble runs f, and ends when its last try has ended.
func inCleanupBubble(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f(t)
		time.Sleep(2 * second)
	})
}

func addSilent(c *lock.Cleaner, n int, lease time.Duration) {
	for i := range n {
		c.Add("silent "+strconv.Itoa(i), "token", lease, 1)
	}
}

func TestCleaner_ManyKeysOfASlowServer_FewGoroutines(t *testing.T) {
	inCleanupBubble(t, func(t *testing.T) {
		c := lock.NewCleaner(func(context.Context, string, string) error {
			time.Sleep(300 * time.Millisecond)
			return lock.ErrNotHeld
		}, func(string) {}, nil)
		before := runtime.NumGoroutine()
		for i := range 60 * 60 { // a minute
			c.Add(strconv.Itoa(i), "token", 30*second, 1)
			time.Sleep(second / 60)
			// Eight tries, and goroutines that are about to end.
			require.LessOrEqual(t, runtime.NumGoroutine(), before+20, "after %d keys", i+1)
		}
		time.Sleep(32 * second)
		synctest.Wait()
		require.LessOrEqual(t, runtime.NumGoroutine(), before+5, "all leases are over")
		require.NoError(t, c.Close(t.Context()))
	})
}

func TestCleaner_AThousandSilentKeys_HealthyKeyIsTriedWithinASecond(t *testing.T) {
	for _, silent := range []int{100, 1000} {
		t.Run(strconv.Itoa(silent), func(t *testing.T) {
			inCleanupBubble(t, func(t *testing.T) {
				of := newCleanups(10 * second)
				c := lock.NewCleaner(of.free, func(string) {}, serverOfTest)
				addSilent(c, silent, 10*second)
				synctest.Wait() // all slots of the silent server are taken
				c.Add("healthy", "token", 10*second, 1)
				time.Sleep(15 * second)
				synctest.Wait()
				require.Contains(t, of.first, "healthy", "never tried")
				require.Less(t, of.first["healthy"], second)
				require.NoError(t, c.Close(t.Context()))
			})
		})
	}
}

// The server is silent for a few keys only: their tries must not take all slots.
func TestCleaner_SilentKeysOfTheSameServer_NewKeyIsTriedAtOnce(t *testing.T) {
	inCleanupBubble(t, func(t *testing.T) {
		of := newCleanups(30 * second)
		c := lock.NewCleaner(of.free, func(string) {}, nil)
		addSilent(c, 20, 30*second)
		time.Sleep(10*second + second/2) // in the middle of their tries
		began := time.Since(of.begun)
		c.Add("healthy", "token", 10*second, 1)
		synctest.Wait()
		require.Contains(t, of.first, "healthy")
		require.Equal(t, began, of.first["healthy"])
		require.NoError(t, c.Close(t.Context()))
	})
}

func TestCleaner_MoreKeysThanASlowServerCanAnswerFor_NewKeyIsTriedFirst(t *testing.T) {
	inCleanupBubble(t, func(t *testing.T) {
		const answer = 300 * time.Millisecond
		of := newCleanups(time.Hour)
		c := lock.NewCleaner(func(ctx context.Context, key, token string) error {
			_ = of.free(ctx, key, token)
			time.Sleep(answer)
			return lock.ErrNotHeld
		}, func(string) {}, nil)
		for i := range 200 {
			c.Add(strconv.Itoa(i), "token", time.Minute, 1)
		}
		time.Sleep(20 * second)
		began := time.Since(of.begun)
		c.Add("new", "token", time.Minute, 1)
		time.Sleep(answer)
		synctest.Wait()
		require.Contains(t, of.first, "new")
		require.LessOrEqual(t, of.first["new"]-began, answer, "with the next slot")
		require.NoError(t, c.Close(t.Context()))
	})
}

func TestCleaner_LeaseOver_KeyIsDroppedWithoutATry(t *testing.T) {
	inCleanupBubble(t, func(t *testing.T) {
		of := newCleanups(5 * second)
		var notFreed atomic.Int32
		c := lock.NewCleaner(of.free, func(string) { notFreed.Add(1) }, serverOfTest)
		addSilent(c, 1000, 5*second)
		time.Sleep(5 * second)
		synctest.Wait()
		require.EqualValues(t, 1000, notFreed.Load(), "all are dropped when the lease is over, whatever is under way")
		time.Sleep(time.Hour)
		synctest.Wait()
		require.Zero(t, of.late, "tries for keys whose lease was over")
		began := time.Now()
		require.NoError(t, c.Close(t.Context()))
		require.Zero(t, time.Since(began))
	})
}

func TestCleaner_CloseBesideASilentServer_EndsWithinASecond(t *testing.T) {
	for _, silent := range []int{100, 1000} {
		for name, after := range map[string]time.Duration{"at once": 0, "later": 2500 * time.Millisecond} {
			t.Run(fmt.Sprint(silent, " ", name), func(t *testing.T) {
				inCleanupBubble(t, func(t *testing.T) {
					of := newCleanups(time.Minute)
					c := lock.NewCleaner(of.free, func(string) {}, serverOfTest)
					addSilent(c, silent, time.Minute)
					time.Sleep(after)
					began := time.Now()
					require.NoError(t, c.Close(t.Context()))
					require.LessOrEqual(t, time.Since(began), second)
					synctest.Wait()
					tries := len(of.first)
					time.Sleep(time.Minute)
					synctest.Wait()
					require.Len(t, of.first, tries, "no try begins after Close")
				})
			})
		}
	}
}

func TestCleaner_KeysAddedWhileClosing_CloseEndsWithinASecond(t *testing.T) {
	inCleanupBubble(t, func(t *testing.T) {
		of := newCleanups(time.Minute)
		c := lock.NewCleaner(of.free, func(string) {}, nil)
		addSilent(c, 1, time.Minute)
		time.AfterFunc(900*time.Millisecond, func() { addSilent(c, 100, time.Minute) })
		began := time.Now()
		require.NoError(t, c.Close(t.Context()))
		require.LessOrEqual(t, time.Since(began), second)
	})
}

func TestCleaner_Close_CancelsTriesUnderWay(t *testing.T) {
	inCleanupBubble(t, func(t *testing.T) {
		cancelled := make(chan struct{})
		c := lock.NewCleaner(func(ctx context.Context, _, _ string) error {
			<-ctx.Done()
			close(cancelled)
			return ctx.Err()
		}, func(string) {}, nil)
		c.Add("key", "token", 20*time.Millisecond, 1) // no second try
		require.NoError(t, c.Close(t.Context()))
		<-cancelled
	})
}

// stopped is a server that was stopped: no call has an answer before its context ends.
type stopped struct{ *memory }

func (stopped) Acquire(ctx context.Context, _, _ string, _ time.Duration) (lock.Grant, error) {
	<-ctx.Done()
	return lock.Grant{}, ctx.Err()
}

func (stopped) Release(ctx context.Context, _, _ string) error {
	<-ctx.Done()
	return ctx.Err()
}

func TestLocker_CloseWhileTheServerIsStopped_EndsWithinASecond(t *testing.T) {
	inCleanupBubble(t, func(t *testing.T) {
		l, err := lock.New(stopped{newMemory()}, lock.Options{
			Lease: 30 * second, Timeout: 2 * second, Logger: slog.New(slog.DiscardHandler),
		})
		require.NoError(t, err)
		var buyers sync.WaitGroup
		for buyer := range 48 {
			buyers.Go(func() {
				for request := range 4 {
					ctx, cancel := context.WithTimeout(t.Context(), second)
					_, err := l.Acquire(ctx, fmt.Sprint(buyer, " ", request))
					cancel()
					require.Error(t, err)
				}
			})
		}
		buyers.Wait()
		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 5*second)
		defer cancel()
		require.NoError(t, l.Close(ctx))
		require.LessOrEqual(t, time.Since(began), second)
	})
}

// halves is a backend on two servers, of which one is stopped.
type halves struct{ *memory }

func (b halves) Acquire(ctx context.Context, key, token string, lease time.Duration) (lock.Grant, error) {
	go func() { _, _ = b.memory.Acquire(context.Background(), key, token, lease) }()
	<-ctx.Done()
	return lock.Grant{}, ctx.Err()
}

func (b halves) Release(ctx context.Context, key, token string) error {
	if b.ServerOf(key) == "silent" {
		<-ctx.Done()
		return ctx.Err()
	}
	return b.memory.Release(ctx, key, token)
}

func (halves) ServerOf(key string) string { return serverOfTest(key) }

func TestLocker_OneServerStopped_KeysOfTheOtherAreFreedWithinASecond(t *testing.T) {
	inCleanupBubble(t, func(t *testing.T) {
		b := halves{newMemory()}
		l, err := lock.New(b, lock.Options{Lease: 30 * second, Logger: slog.New(slog.DiscardHandler)})
		require.NoError(t, err)
		abandon := func(server string, n int) {
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			var all sync.WaitGroup
			for i := range n {
				all.Go(func() { _, _ = l.Acquire(ctx, fmt.Sprint(server, " ", i)) })
			}
			all.Wait()
		}
		abandon("silent", 1000)
		abandon("healthy", 10)
		time.Sleep(second)
		for i := range 10 {
			require.False(t, b.holds(fmt.Sprint("healthy ", i)))
		}
		require.NoError(t, l.Close(context.Background()))
	})
}
