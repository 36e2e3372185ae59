package zklock

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/lock"
	"example.com/seckill/internal/testing/faultnet"
	"example.com/seckill/internal/testing/testservers"
)

const soon = 5 * time.Second

func locker(t *testing.T, b lock.Backend, lease time.Duration) *lock.Locker {
	t.Helper()
	// Polling is of no help here: what comes in time was a message.
	l, err := lock.New(b, lock.Options{Lease: lease, Wait: time.Minute, Poll: time.Minute})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, l.Close(context.Background())) })
	return l
}

// counting counts the acquires that were answered.
type counting struct {
	*Backend
	acquires atomic.Int32
}

func (c *counting) Acquire(ctx context.Context, key, token string, lease time.Duration) (lock.Grant, error) {
	defer c.acquires.Add(1)
	return c.Backend.Acquire(ctx, key, token, lease)
}

// waiting acquires in the background and returns once it stands in line, was
// refused there, and sleeps.
func waiting(t *testing.T, o observer, b *Backend, lease time.Duration, key string, before int) <-chan error {
	t.Helper()
	got, calls := make(chan error, 1), &counting{Backend: b}
	l := locker(t, calls, lease)
	go func() {
		h, err := l.Acquire(t.Context(), key)
		if err == nil {
			err = h.Release(t.Context())
		}
		got <- err
	}()
	require.Eventually(t, func() bool {
		return len(o.children(t, "/seckill/line/"+escape(key))) == before+1 && calls.acquires.Load() >= 2
	}, soon, time.Millisecond)
	return got
}

func arrives(t *testing.T, got <-chan error) {
	t.Helper()
	select {
	case err := <-got:
		require.NoError(t, err)
	case <-time.After(soon):
		t.Fatal("nobody woke the waiter")
	}
}

func (o observer) freeWithin(t *testing.T, key string, d time.Duration) {
	t.Helper()
	require.Eventually(t, func() bool { return len(o.children(t, "/seckill/held/"+escape(key))) == 0 }, d, 2*time.Millisecond)
}

func TestAcquire_LeaseBeyondServerLimit_LeavesNothing(t *testing.T) {
	addr := testservers.ZooKeeper(t).Addr()
	o, b := observe(t, addr), dial(t, addr)
	_, err := b.Acquire(t.Context(), t.Name(), "one", 3*time.Minute)
	require.ErrorContains(t, err, "the server grants sessions of 2m0s, too short for a lease of 3m0s")
	require.NotErrorIs(t, err, lock.ErrHeld)
	require.Empty(t, o.children(t, b.held(t.Name())))
}

func TestSession_Expires_NodesGoAndBackendReconnects(t *testing.T) {
	addr := testservers.ZooKeeper(t).Addr()
	o, proxy := observe(t, addr), testservers.Proxy(t, addr)
	b := dial(t, proxy.Addr())
	l := locker(t, b, 3*time.Second)
	var h *lock.Lease
	var err error
	require.Eventually(t, func() bool { // the first calls also make the session, and the folders
		h, err = l.Acquire(t.Context(), t.Name())
		return err == nil
	}, 3*soon, time.Millisecond)
	end := proxy.Inject(faultnet.BlackHole)
	require.Eventually(t, func() bool { return len(o.children(t, b.held(t.Name()))) == 0 }, 3*soon, time.Millisecond)
	require.ErrorIs(t, context.Cause(h.Context()), lock.ErrLost, "told before the server let go")
	end()
	var again *lock.Lease
	require.Eventually(t, func() bool { // once the connection is there again, and what tries before it left is swept
		again, err = l.Acquire(t.Context(), t.Name(), lock.WithWait(0))
		return err == nil
	}, soon, time.Millisecond)
	require.Greater(t, again.Fence(), h.Fence())
	require.ErrorIs(t, h.Release(t.Context()), lock.ErrNotHeld)
	require.NoError(t, again.Context().Err())
	require.NoError(t, again.Release(t.Context()))
}

func TestSession_ConnectionBreaks_IsResumed(t *testing.T) {
	addr := testservers.ZooKeeper(t).Addr()
	proxy := testservers.Proxy(t, addr)
	b := dial(t, proxy.Addr())
	grant, err := b.Acquire(t.Context(), t.Name(), "one", 10*time.Second)
	require.NoError(t, err)
	proxy.Cut()
	require.Eventually(t, func() bool { return b.Renew(t.Context(), t.Name(), "one", 10*time.Second) != nil }, soon, time.Millisecond)
	require.NoError(t, proxy.Join())
	require.Eventually(t, func() bool { return b.Renew(t.Context(), t.Name(), "one", 10*time.Second) == nil }, soon, time.Millisecond)
	again, err := b.Acquire(t.Context(), t.Name(), "one", 10*time.Second)
	require.NoError(t, err)
	require.Equal(t, grant, again)
	require.NoError(t, b.Release(t.Context(), t.Name(), "one"))
}

func TestLease_ServerKilledAndRestarted_Survives(t *testing.T) {
	server := testservers.NewZooKeeper(t)
	b := dial(t, server.Addr())
	l := locker(t, b, 15*time.Second)
	h, err := l.Acquire(t.Context(), "a")
	require.NoError(t, err)
	waiter := waiting(t, observe(t, server.Addr()), dial(t, server.Addr()), 15*time.Second, "a", 0)
	require.NoError(t, server.Kill())
	require.Eventually(t, func() bool {
		_, err = l.Acquire(t.Context(), "b", lock.WithWait(0))
		return err != nil
	}, soon, time.Millisecond)
	require.ErrorIs(t, err, lock.ErrUnavailable)
	require.NoError(t, server.Restart(t.Context()))
	require.Eventually(t, func() bool { return h.Release(t.Context()) == nil }, soon, time.Millisecond)
	require.NotErrorIs(t, context.Cause(h.Context()), lock.ErrLost)
	arrives(t, waiter)
	var next *lock.Lease
	require.Eventually(t, func() bool { // a server that has just started may be slow at first
		next, err = l.Acquire(t.Context(), "a")
		return err == nil
	}, soon, time.Millisecond)
	require.Greater(t, next.Fence(), h.Fence())
	require.NoError(t, next.Release(t.Context()))
}

func TestAcquire_CancelledWithReplyLost_RemovesOrphan(t *testing.T) {
	addr := testservers.ZooKeeper(t).Addr()
	o := observe(t, addr)
	written := false
	const lease = 30 * time.Second // far longer than the test: it is not the end of the lease that frees
	for answered, enough := int32(0), false; !enough; answered++ {
		proxy := testservers.Proxy(t, addr)
		b, key := dial(t, proxy.Addr()), t.Name()+string('a'+answered)
		_, err := b.Acquire(t.Context(), key+"warm", "one", lease)
		require.NoError(t, err)
		require.NoError(t, b.Release(t.Context(), key+"warm", "one"))
		end := proxy.SwallowRepliesAfter(answered)
		ctx, cancel := context.WithCancel(t.Context())
		got := make(chan error, 1)
		go func() { _, err := b.Acquire(ctx, key, "one", lease); got <- err }()
		require.Eventually(t, func() bool { return proxy.Swallowed() || len(got) > 0 }, soon, time.Millisecond)
		written = written || len(o.children(t, b.held(key))) > 0
		cancel()
		end()
		if enough = <-got == nil; enough {
			require.NoError(t, b.Release(t.Context(), key, "one"))
		}
		o.freeWithin(t, key, soon) // nobody else releases it
		_, err = b.Acquire(t.Context(), key, "two", lease)
		for err != nil { // until the connection is there again
			require.NotErrorIs(t, err, lock.ErrHeld)
			_, err = b.Acquire(t.Context(), key, "two", lease)
		}
		require.NoError(t, b.Release(t.Context(), key, "two"))
	}
	require.True(t, written, "no node was written, so nothing was shown")
}

func TestClose_KeyHeld_ExpiresWithLease(t *testing.T) {
	addr := testservers.ZooKeeper(t).Addr()
	o := observe(t, addr)
	b, err := Connect([]string{addr}, Options{})
	require.NoError(t, err)
	_, err = b.Acquire(t.Context(), t.Name(), "one", 4*time.Second)
	require.NoError(t, err)
	_, err = b.Acquire(t.Context(), t.Name()+"released", "two", 6*time.Second)
	require.NoError(t, err)
	require.NoError(t, b.Release(t.Context(), t.Name()+"released", "two"))
	require.NoError(t, b.Close())
	require.NoError(t, b.Close(), "it may be repeated")
	require.NotEmpty(t, o.children(t, b.held(t.Name())))
	o.freeWithin(t, t.Name(), 2*soon)
	_, err = b.Acquire(t.Context(), t.Name(), "one", 4*time.Second)
	require.ErrorIs(t, err, errClosed)
	_, _, err = b.Subscribe(t.Context(), t.Name(), "token")
	require.ErrorIs(t, err, errClosed)
}

func TestQueue_WaiterDies_NextTakesItsPlace(t *testing.T) {
	addr := testservers.ZooKeeper(t).Addr()
	o, dying := observe(t, addr), dial(t, addr)
	h, err := locker(t, dial(t, addr), 20*time.Second).Acquire(t.Context(), t.Name())
	require.NoError(t, err)
	_, _, err = dying.Subscribe(t.Context(), t.Name(), "token")
	require.NoError(t, err)
	got := waiting(t, o, dial(t, addr), 20*time.Second, t.Name(), 1)
	require.NoError(t, dying.Close())
	require.NoError(t, h.Release(t.Context()))
	arrives(t, got)
}

func TestQueue_SessionExpires_WaiterQueuesAgain(t *testing.T) {
	addr := testservers.ZooKeeper(t).Addr()
	o, proxy := observe(t, addr), testservers.Proxy(t, addr)
	h, err := locker(t, dial(t, addr), 20*time.Second).Acquire(t.Context(), t.Name())
	require.NoError(t, err)
	got := waiting(t, o, dial(t, proxy.Addr()), time.Second, t.Name(), 0)
	proxy.Cut()
	line := "/seckill/line/" + escape(t.Name())
	require.Eventually(t, func() bool { return len(o.children(t, line)) == 0 }, soon, time.Millisecond)
	require.NoError(t, proxy.Join())
	require.Eventually(t, func() bool { return len(o.children(t, line)) == 1 }, soon, time.Millisecond)
	require.NoError(t, h.Release(t.Context()))
	arrives(t, got)
}

func TestNodes_SequenceWrapsAround_KeepOrder(t *testing.T) {
	n := newNames([]string{"b.-2147483648", "c.2147483647", "a.-2147483647", "nonsense", "z.2147483646"})
	require.Equal(t, names{"z.2147483646", "c.2147483647", "b.-2147483648", "a.-2147483647"}, n)
	before, there := n.before("c.2147483647")
	require.True(t, there)
	require.Equal(t, "z.2147483646", before)
	before, there = n.before("z.2147483646")
	require.True(t, there)
	require.Empty(t, before)
	_, there = n.before("y.1")
	require.False(t, there)
	_, ours := n.of("nonsense")
	require.False(t, ours)
}

func TestKeys_AnyText_IsAllowed(t *testing.T) {
	b := dial(t, testservers.ZooKeeper(t).Addr())
	for _, text := range []string{".", "..", "a/b", "a.b", "a", "é ü", "%2E", "zookeeper", "-"} {
		_, err := b.Acquire(t.Context(), t.Name()+text, text, 10*time.Second)
		require.NoError(t, err, text)
		_, err = b.Acquire(t.Context(), text, text, 10*time.Second)
		require.NoError(t, err, text)
		require.NoError(t, b.Release(t.Context(), text, text), text)
		require.NoError(t, b.Release(t.Context(), t.Name()+text, text), text)
	}
}

func TestSessions_TooManyLeaseLengths_AreRefused(t *testing.T) {
	b := dial(t, testservers.ZooKeeper(t).Addr())
	for i := range maxSessions {
		_, err := b.session(time.Duration(i+1) * time.Second)
		require.NoError(t, err)
	}
	_, err := b.session(time.Hour)
	require.ErrorContains(t, err, "different lengths")
	_, err = b.session(time.Second)
	require.NoError(t, err)
}

func TestAcquire_Refused_LeavesNoNode(t *testing.T) {
	addr := testservers.ZooKeeper(t).Addr()
	o, b := observe(t, addr), dial(t, addr)
	_, err := b.Acquire(t.Context(), t.Name(), "holder", 10*time.Second)
	require.NoError(t, err)
	s, err := b.session(10 * time.Second)
	require.NoError(t, err)
	_, err = s.enter(t.Context(), b.held(t.Name()), "late", nil) // as if the holder had come between look and create
	require.NoError(t, err)
	_, err = b.Acquire(t.Context(), t.Name(), "late", 10*time.Second)
	require.ErrorIs(t, err, lock.ErrHeld)
	require.Len(t, o.children(t, b.held(t.Name())), 1)
	require.NoError(t, b.Release(t.Context(), t.Name(), "holder"))
}

// A create that comes just after its connection broke is kept by the library until there is another one.
func TestBackend_CloseWhileACreateHasNoConnection_Ends(t *testing.T) {
	proxy := testservers.Proxy(t, testservers.ZooKeeper(t).Addr())
	b, err := Connect([]string{proxy.Addr()}, Options{})
	require.NoError(t, err)
	s, err := b.session(10 * time.Second)
	require.NoError(t, err)
	require.NoError(t, s.ready(t.Context()))
	require.NoError(t, s.makeFolder(t.Context(), b.held(t.Name())))
	proxy.Cut()
	require.Eventually(t, func() bool { _, _, away := s.state(); return away != nil }, soon, time.Millisecond)
	s.setState(true, nil) // as just before
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err = s.create(ctx, b.held(t.Name()), "token", nil)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	b.done(s)
	closed := make(chan error, 1)
	go func() { closed <- b.Close() }()
	select {
	case err := <-closed:
		require.NoError(t, err)
	case <-time.After(soon):
		t.Error("Close waits for the create")
		require.NoError(t, proxy.Join())
		require.NoError(t, <-closed)
	}
}

// endSession ends the session of a backend that is not connected, as a server may do before its time is over.
func endSession(t *testing.T, addr string, s *session) {
	t.Helper()
	s.conns.mu.Lock()
	ours := s.conns.conn
	s.conns.mu.Unlock()
	require.True(t, ours.greeted.Load())
	const passwordAt = idAt + 8
	length := int(binary.BigEndian.Uint32(ours.greeting[passwordAt:]))
	password := ours.greeting[passwordAt+4:][:length]

	var connect []byte
	connect = binary.BigEndian.AppendUint32(connect, 0)      // protocol
	connect = binary.BigEndian.AppendUint64(connect, 0)      // the last transaction seen
	connect = binary.BigEndian.AppendUint32(connect, 30_000) // timeout
	connect = binary.BigEndian.AppendUint64(connect, uint64(s.conn.SessionID()))
	connect = binary.BigEndian.AppendUint32(connect, uint32(length))
	connect = append(connect, password...)
	end := binary.BigEndian.AppendUint32(nil, 1)         // number of the request
	end = binary.BigEndian.AppendUint32(end, 0xFFFFFFF5) // −11: end the session
	var packets []byte
	for _, p := range [][]byte{connect, end} {
		packets = binary.BigEndian.AppendUint32(packets, uint32(len(p)))
		packets = append(packets, p...)
	}
	c, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	defer func() { _ = c.Close() }()
	_, err = c.Write(packets)
	require.NoError(t, err)
	const answers = 4 + 36 + 4 + 16 // each has its length before it
	_, err = io.ReadFull(c, make([]byte, answers))
	require.NoError(t, err)
	_ = ours.Close() // as a server does with the connection of a session that it ends
}

func TestSession_EndedByTheServer_HolderHearsBeforeTheNextRenewal(t *testing.T) {
	addr := testservers.ZooKeeper(t).Addr()
	proxy := testservers.Proxy(t, addr)
	b := dial(t, proxy.Addr())
	const lease = 30 * time.Second // a renewal would come after ten
	l := locker(t, b, lease)
	h, err := l.Acquire(t.Context(), t.Name())
	require.NoError(t, err)
	released, err := l.Acquire(t.Context(), t.Name()+" released")
	require.NoError(t, err)
	require.NoError(t, released.Release(t.Context()))
	b.mu.Lock()
	s := b.sessions[lease]
	b.mu.Unlock()
	proxy.Cut() // or the library would take the session back
	require.Eventually(t, func() bool { _, _, away := s.state(); return away != nil }, soon, time.Millisecond)
	endSession(t, addr, s)
	require.NoError(t, h.Context().Err())
	require.NoError(t, proxy.Join())
	select {
	case <-h.Context().Done():
	case <-time.After(soon):
		t.Fatal("the holder has not heard that its session is over")
	}
	require.ErrorIs(t, context.Cause(h.Context()), lock.ErrLost)
	require.ErrorIs(t, h.Release(t.Context()), lock.ErrLost)
	var again *lock.Lease
	require.Eventually(t, func() bool { // once there is another session
		again, err = l.Acquire(t.Context(), t.Name())
		return err == nil
	}, soon, time.Millisecond)
	require.Greater(t, again.Fence(), h.Fence())
	require.NoError(t, again.Context().Err(), "it is of the next session")
	require.NoError(t, again.Release(t.Context()))
}

// A session lives on after its grants: what it kept of each of them would grow for ever.
func TestGrant_Gone_EndsWithTheRelease(t *testing.T) {
	b := dial(t, testservers.ZooKeeper(t).Addr())
	grant, err := b.Acquire(t.Context(), t.Name(), "token", 30*time.Second)
	require.NoError(t, err)
	require.NoError(t, grant.Gone.Err())
	again, err := b.Acquire(t.Context(), t.Name(), "token", 30*time.Second)
	require.NoError(t, err)
	require.Equal(t, grant, again)
	require.NoError(t, b.Release(t.Context(), t.Name(), "token"))
	require.Error(t, grant.Gone.Err())
}
