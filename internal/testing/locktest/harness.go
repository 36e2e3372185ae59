// Package locktest tests the requirements that every backend of package lock must meet.
//
// The test of a backend describes the backend in a Harness and calls Run. The name of every subtest is a
// sentence. Most names begin with the number of the requirement in the list. A backend skips only the
// requirements that its Harness leaves out or its Capabilities deny.
//
//	a Locker on its own connection  =  one process
//
//	locker ──▶ backend ──▶ [proxy: lose, delay, swallow, cut] ──▶ real server
//
// The suite never sleeps in order to wait. Goroutines meet at gates, and the suite polls for the effects of
// other goroutines and processes.
package locktest

import (
	"context"
	"crypto/rand"
	"errors"
	"runtime/pprof"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/lock"
	"example.com/seckill/internal/testing/faultnet"
	"example.com/seckill/internal/testing/testservers"
)

// Harness describes one kind of server and gives the suite access to it.
type Harness struct {
	// Server is the host and port of the server. Several servers are separated by commas.
	Server string
	// Dial makes a backend with separate connections, like another process. addr is Server or the address of a
	// proxy in front of it, or of a proxy in front of each server. Dial registers its cleanup with t.
	Dial func(t testing.TB, addr string) lock.Backend
	// Value returns the value that the server has stored for key, "" when the key is free.
	Value func(t testing.TB, key string) string
	// Remaining returns how long the current lease of key lasts, as the server reports it. Nil: the server does
	// not report it.
	Remaining func(t testing.TB, key string) time.Duration
	// Overwrite makes another token the holder, without any backend.
	Overwrite func(t testing.TB, key string)
	// Delete removes the key by hand.
	Delete func(t testing.TB, key string)
	// Flush removes everything. Nil: it cannot be done.
	Flush func(t testing.TB)
	// ForgetScripts makes the server forget its scripts. Nil: it has none.
	ForgetScripts func(t testing.TB)
	// Subscriptions returns how many waiters the server has registered. Nil: it registers none.
	Subscriptions func(t testing.TB) int
	// Kept returns how many items the server keeps for all keys together. Nil: the suite counts nothing.
	// KeptAtMost is how many more items than before may outlive their keys. Purge drops the items that keys
	// leave when they were not used for a while. It is nil if keys leave no items.
	Kept       func(t testing.TB) int
	KeptAtMost int
	Purge      func(t testing.TB)
	// Line returns how many processes wait in line for key. PlaceTTL is how long the place of a dead process
	// lasts. Nil: this backend is not fair.
	Line     func(t testing.TB, key string) int
	PlaceTTL time.Duration
	Capabilities
}

// Capabilities are the features of a backend beyond the interface.
type Capabilities struct {
	Fence             bool          // grants carry a fence that grows
	FenceOutlivesData bool          // the fence also goes on growing after Flush
	AdvancesFence     bool          // lock.FenceAdvancer
	Wakes             bool          // lock.Notifier: waiters are woken by a message
	WakesOne          bool          // a message wakes only one of many processes
	Steps             bool          // an acquire takes several round trips: an interrupted acquire may not have written
	Unproxied         bool          // the server sends its clients past a proxy: the suite does not damage the network
	TellsTaken        bool          // ErrNotHeld distinguishes an expired key from one that another holds
	Session           bool          // a key belongs to a connection, and is free once the server detects that it is cut
	AtOnce            int           // how many keys may be held at once; 0 is no limit
	Coarse            time.Duration // the smallest lease that the server keeps exactly; 0 is a millisecond
}

// suite is one run with one harness.
type suite struct {
	Harness

	group string // the label of its goroutines
}

// group is a part of the list. A group that empties the server, or counts the items that it keeps, runs by
// itself. Such groups run before the others, which run in parallel because they mostly wait.
type group struct {
	name    string
	run     func(suite, *testing.T)
	alone   bool
	waiting bool // another mode of waiting changes something in it
}

var groups = []group{
	{name: "flushed", run: suite.flushed, alone: true}, // first: what was raised is not kept by what goes on growing
	{name: "waiting", run: suite.waiting, alone: true, waiting: true},
	{name: "fences", run: suite.fences, alone: true},
	{name: "ending", run: suite.ending, alone: true},
	{name: "scale", run: suite.scale, alone: true, waiting: true},
	{name: "handles", run: suite.handles},
	{name: "leases", run: suite.leases},
	{name: "faults", run: suite.faults, waiting: true},
	{name: "abandoned", run: suite.abandoned, waiting: true},
	{name: "late", run: suite.lateTry, waiting: true},
	{name: "slow", run: suite.slow, waiting: true},
	{name: "keys", run: suite.keys, waiting: true},
	{name: "work", run: suite.work},
	{name: "fair", run: suite.fair, waiting: true},
	{name: "many", run: suite.many, waiting: true},
}

// Run runs half of the groups of the list, drawn for each backend. With TEST_ALL it runs all groups.
func Run(t *testing.T, h Harness) { suite{Harness: h}.run(t, groups) }

// RunWaiting runs the groups about waiting, half of them as Run does. It is for another waiting mode of a
// backend that Run also tests.
func RunWaiting(t *testing.T, h Harness) {
	suite{Harness: h}.run(t, slices.DeleteFunc(slices.Clone(groups), func(g group) bool { return !g.waiting }))
}

func (s suite) run(t *testing.T, of []group) {
	for _, g := range testservers.Sample(t, (len(of)+1)/2, of) {
		t.Run(g.name, func(t *testing.T) {
			if !g.alone {
				t.Parallel()
			}
			s.labelled(t, g.run)
		})
	}
}

// labelled labels the goroutines of a group, so that the group can count its own goroutines.
func (s suite) labelled(t *testing.T, run func(suite, *testing.T)) {
	s.group = t.Name()
	pprof.Do(t.Context(), pprof.Labels(label, s.group), func(context.Context) { run(s, t) })
}

const label = "locktest"

// scaled returns d, or the shortest lease of this server if that is longer.
func (s suite) scaled(d time.Duration) time.Duration {
	if s.Coarse > 0 {
		return max(d, s.Coarse)
	}
	return d
}

// locker returns the Locker of one more process. It applies changes to working default options.
func (s suite) locker(t testing.TB, changes ...func(*lock.Options)) *lock.Locker {
	t.Helper()
	return s.lockerAt(t, s.Server, changes...)
}

func (s suite) lockerAt(t testing.TB, addr string, changes ...func(*lock.Options)) *lock.Locker {
	t.Helper()
	o := lock.Options{Lease: s.scaled(5 * time.Second), Poll: 20 * time.Millisecond, Timeout: 2 * time.Second}
	for _, change := range changes {
		change(&o)
	}
	l, err := lock.New(s.Dial(t, addr), o)
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		require.NoError(t, l.Close(ctx))
	})
	return l
}

// proxied runs a subtest with a proxy in front of the server. If the server sends its clients past a proxy,
// proxied skips the subtest.
func (s suite) proxied(t *testing.T, name string, run func(t *testing.T, p *faultnet.Proxy)) {
	t.Helper()
	if !s.Unproxied {
		t.Run(name, func(t *testing.T) { run(t, testservers.Proxy(t, s.Server)) })
	}
}

// warm connects a Locker with its server before the test damages the server, so that the test spends no time on
// connecting. It repeats the call until a call is in time, even on a busy machine. It pauses between calls,
// because each late call leaves a key to be freed.
func (s suite) warm(t testing.TB, l *lock.Locker) {
	t.Helper()
	eventually(t, func() bool {
		h, err := l.Acquire(t.Context(), aKey())
		if err == nil {
			err = h.Release(t.Context())
		}
		if err != nil {
			t.Logf("not warm yet: %v", err)
		}
		return err == nil
	}, time.Minute, time.Second)
}

// connected returns a Locker that has already acquired key once. Its later waits then include no time for
// connecting, or for finding the node of a Cluster.
func (s suite) connected(t testing.TB, key string, changes ...func(*lock.Options)) *lock.Locker {
	t.Helper()
	l := s.locker(t, changes...)
	require.NoError(t, mustAcquire(t, l, key).Release(t.Context()))
	return l
}

func lease(d time.Duration) func(*lock.Options)   { return func(o *lock.Options) { o.Lease = d } }
func wait(d time.Duration) func(*lock.Options)    { return func(o *lock.Options) { o.Wait = d } }
func poll(d time.Duration) func(*lock.Options)    { return func(o *lock.Options) { o.Poll = d } }
func timeout(d time.Duration) func(*lock.Options) { return func(o *lock.Options) { o.Timeout = d } }
func hooks(h lock.Hooks) func(*lock.Options)      { return func(o *lock.Options) { o.Hooks = h } }

// aKey returns a key that no other test uses.
func aKey() string { return "user:" + rand.Text() }

// mustAcquire acquires key without waiting. If the server does not answer in time, it tries a few times more:
// on a busy machine this may happen to a short lease. The later tries wait, so that a key that an earlier try
// took can be freed.
func mustAcquire(t testing.TB, l *lock.Locker, key string, opts ...lock.Option) *lock.Lease {
	t.Helper()
	h, err := l.Acquire(t.Context(), key, opts...)
	for n := 0; n < 4 && errors.Is(err, lock.ErrUnavailable); n++ {
		h, err = l.Acquire(t.Context(), key, append([]lock.Option{lock.WithWait(5 * time.Second)}, opts...)...)
	}
	require.NoError(t, err)
	return h
}

// freeWithin fails the test unless key is free within d.
func (s suite) freeWithin(t testing.TB, key string, d time.Duration) {
	t.Helper()
	eventually(t, func() bool { return s.Value(t, key) == "" }, d, 2*time.Millisecond, "the key is still held")
}

// ends waits for ctx to end and returns its cause.
func ends(t testing.TB, ctx context.Context, within time.Duration) error {
	t.Helper()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(within):
		t.Fatalf("the context did not end within %v", within)
		return nil
	}
}
