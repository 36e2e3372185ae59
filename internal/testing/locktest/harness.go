// Package locktest is the list of what every backend of package lock must do.
//
// A backend's test describes itself in a Harness and calls Run. Every subtest is
// a sentence, and most begin with the number by which the list is referred to. A backend is
// excused only from what its Harness leaves out or Capabilities deny.
//
//	a Locker on its own connection  =  one process
//
//	locker ──▶ backend ──▶ [proxy: lose, delay, swallow, cut] ──▶ real server
//
// The promise of the suite: nothing sleeps in order to wait. Goroutines meet at
// gates, and what others do is polled for.
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

// Harness is how the suite reaches one kind of server.
type Harness struct {
	// Server is the host and port of the server; of several, parted by commas.
	Server string
	// Dial makes a backend with connections of its own, like another process,
	// to addr, which is Server or a proxy before it, or before each. It cleans up by t.
	Dial func(t testing.TB, addr string) lock.Backend
	// Value is what the server has stored for key, "" when it is free.
	Value func(t testing.TB, key string) string
	// Remaining is how long the present lease of key lasts by the server's word.
	// Nil: the server does not tell.
	Remaining func(t testing.TB, key string) time.Duration
	// Overwrite makes another token the holder, past every backend.
	Overwrite func(t testing.TB, key string)
	// Delete removes the key by hand.
	Delete func(t testing.TB, key string)
	// Flush removes everything. Nil: it cannot be done.
	Flush func(t testing.TB)
	// ForgetScripts makes the server forget its scripts. Nil: it has none.
	ForgetScripts func(t testing.TB)
	// Subscriptions is how many waiters the server knows of. Nil: it keeps none.
	Subscriptions func(t testing.TB) int
	// Kept is how many things the server keeps in all, of whatever keys, KeptAtMost how many
	// more than before those may be that outlive their keys, and Purge drops what keys leave
	// that were not used for a while; nil if they leave nothing. Nil: nothing is counted.
	Kept       func(t testing.TB) int
	KeptAtMost int
	Purge      func(t testing.TB)
	// Line is how many processes stand in line for key, and PlaceTTL how long the
	// place of one that died lasts. Nil: this backend is not fair.
	Line     func(t testing.TB, key string) int
	PlaceTTL time.Duration
	Capabilities
}

// Capabilities are what a backend can do beyond the interface.
type Capabilities struct {
	Fence             bool          // grants carry a fence that grows
	FenceOutlivesData bool          // and goes on growing after Flush
	Raises            bool          // lock.Raiser
	Wakes             bool          // lock.Notifier: waiters are woken by a message
	WakesOne          bool          // and of many processes one alone
	Steps             bool          // an acquire takes several round trips: one that is cut short may not have written yet
	Unproxied         bool          // the server sends its clients past a proxy: nothing is done to the network
	TellsTaken        bool          // ErrNotHeld distinguishes an expired key from one that another holds
	Session           bool          // a key belongs to a connection, and is free as soon as the server sees that cut
	AtOnce            int           // so many keys at most may be held at once; 0 is any number
	Coarse            time.Duration // the smallest lease that the server keeps exactly; 0 is a millisecond
}

// suite is one run against one harness.
type suite struct {
	Harness

	group string // what its goroutines are labelled with
}

// group is a part of the list. One that counts what the server knows of, or empties it, runs alone, before
// those that run beside each other: they mostly wait.
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

// Run runs the list: half of its groups, drawn anew for each backend, or all with TEST_ALL.
func Run(t *testing.T, h Harness) { suite{Harness: h}.run(t, groups) }

// RunWaiting runs what is about waiting, for another mode of a backend that has been through the
// list, half of it as Run does.
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

// labelled marks the goroutines of a group, so that it can count its own.
func (s suite) labelled(t *testing.T, run func(suite, *testing.T)) {
	s.group = t.Name()
	pprof.Do(t.Context(), pprof.Labels(label, s.group), func(context.Context) { run(s, t) })
}

const label = "locktest"

// scaled is d, or as much more as this server's leases need.
func (s suite) scaled(d time.Duration) time.Duration {
	if s.Coarse > 0 {
		return max(d, s.Coarse)
	}
	return d
}

// locker is one more process. Changes are applied to good default options.
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

// proxied runs a subtest with a proxy before the server, unless the server sends its clients past it.
func (s suite) proxied(t *testing.T, name string, run func(t *testing.T, p *faultnet.Proxy)) {
	t.Helper()
	if !s.Unproxied {
		t.Run(name, func(t *testing.T) { run(t, testservers.Proxy(t, s.Server)) })
	}
}

// warm lets a Locker speak with its server before that is harmed, so that what follows is
// not spent on connecting. It goes on until a call is in time, however busy the machine;
// not at once, because each call that is late has a key to be freed.
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

// connected is a Locker that has spoken with the server about key: what it then waits is
// not spent on connecting, and on looking for the node of a Cluster.
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

// aKey is one that no other test uses.
func aKey() string { return "user:" + rand.Text() }

// mustAcquire takes key at once; and again, a few times, when the server did not answer in
// time, as a busy machine may let it happen to a short lease. What an earlier try took is given
// the time to be freed.
func mustAcquire(t testing.TB, l *lock.Locker, key string, opts ...lock.Option) *lock.Lease {
	t.Helper()
	h, err := l.Acquire(t.Context(), key, opts...)
	for n := 0; n < 4 && errors.Is(err, lock.ErrUnavailable); n++ {
		h, err = l.Acquire(t.Context(), key, append([]lock.Option{lock.WithWait(5 * time.Second)}, opts...)...)
	}
	require.NoError(t, err)
	return h
}

// free fails the test unless key is free within d.
func (s suite) freeWithin(t testing.TB, key string, d time.Duration) {
	t.Helper()
	eventually(t, func() bool { return s.Value(t, key) == "" }, d, 2*time.Millisecond, "the key is still held")
}

// ends waits for ctx to end and answers its cause.
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
