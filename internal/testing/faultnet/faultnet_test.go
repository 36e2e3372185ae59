package faultnet_test

import (
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/testing/faultnet"
)

// echo is a server that says back what it hears, and counts it.
type echo struct {
	addr  string
	heard atomic.Int64
}

func newEcho(t *testing.T) *echo {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	e := &echo{addr: l.Addr().String()}
	var all sync.WaitGroup
	t.Cleanup(func() { _ = l.Close(); all.Wait() })
	all.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() { e.serve(c) })
		}
	})
	return e
}

func (e *echo) serve(c net.Conn) {
	defer func() { _ = c.Close() }()
	buffer := make([]byte, 64)
	for {
		n, err := c.Read(buffer)
		if err != nil {
			return
		}
		e.heard.Add(1)
		if _, err := c.Write(buffer[:n]); err != nil {
			return
		}
	}
}

type client struct {
	t *testing.T
	net.Conn
}

func dial(t *testing.T, p *faultnet.Proxy) client {
	t.Helper()
	c, err := net.Dial("tcp", p.Addr())
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return client{t, c}
}

var errSilent = errors.New("no reply")

// say sends a word and returns what came back: the word, io.EOF or a reset if the connection was
// closed, errSilent if nothing came.
func (c client) say(within time.Duration) error {
	c.t.Helper()
	if _, err := c.Write([]byte("word")); err != nil {
		return io.EOF
	}
	require.NoError(c.t, c.SetReadDeadline(time.Now().Add(within)))
	got := make([]byte, 4)
	_, err := io.ReadFull(c, got)
	switch {
	case err == nil:
		require.Equal(c.t, "word", string(got))
		return nil
	case errors.Is(err, os.ErrDeadlineExceeded):
		return errSilent
	default:
		return io.EOF
	}
}

const (
	long  = 20 * time.Second
	short = 100 * time.Millisecond
)

func before(t *testing.T, e *echo) *faultnet.Proxy {
	t.Helper()
	p, err := faultnet.New(e.addr)
	require.NoError(t, err)
	t.Cleanup(p.Close)
	return p
}

func TestProxy_EachFault_DoesWhatItSays(t *testing.T) {
	for name, tc := range map[string]struct {
		inject  func(*faultnet.Proxy) func()
		within  time.Duration
		want    error
		reaches bool
	}{
		"reset":                        {of(faultnet.Reset), long, io.EOF, false},
		"no requests":                  {of(faultnet.NoRequests), short, errSilent, false},
		"no replies":                   {of(faultnet.NoReplies), short, errSilent, true},
		"a black hole":                 {of(faultnet.BlackHole), short, errSilent, false},
		"replies are cut":              {of(faultnet.CutRepliesAfter(2)), long, io.EOF, true},
		"a lost reply":                 {func(p *faultnet.Proxy) func() { return p.LoseReplies(1) }, long, io.EOF, true},
		"replies are swallowed":        {func(p *faultnet.Proxy) func() { return p.SwallowRepliesAfter(0) }, short, errSilent, true},
		"two faults of a kind at once": {of(faultnet.NoReplies, faultnet.NoReplies), short, errSilent, true},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEcho(t)
			p := before(t, e)
			require.NoError(t, dial(t, p).say(long))
			end := tc.inject(p)
			require.Equal(t, tc.want, dial(t, p).say(tc.within))
			if tc.reaches {
				require.Eventually(t, func() bool { return e.heard.Load() == 2 }, long, time.Millisecond)
			} else {
				require.EqualValues(t, 1, e.heard.Load(), "the request is not to arrive")
			}
			end()
			end()
			require.NoError(t, p.Mend())
			require.NoError(t, dial(t, p).say(long))
		})
	}
}

func of(faults ...faultnet.Fault) func(*faultnet.Proxy) func() {
	return func(p *faultnet.Proxy) func() { return p.Inject(faults...) }
}

func TestDelay_RequestsOrReplies_AreHeldBack(t *testing.T) {
	for name, fault := range map[string]faultnet.Fault{
		"requests": faultnet.DelayRequests(2 * short),
		"replies":  faultnet.DelayReplies(2*short, short/2),
	} {
		t.Run(name, func(t *testing.T) {
			p := before(t, newEcho(t))
			p.Inject(fault)
			start := time.Now()
			require.NoError(t, dial(t, p).say(long))
			require.Greater(t, time.Since(start), short)
		})
	}
}

func TestProxy_NumberOfReplies_IsLostOrPasses(t *testing.T) {
	e := newEcho(t)
	p := before(t, e)
	p.LoseReplies(2)
	for range 2 {
		require.Equal(t, io.EOF, dial(t, p).say(long))
	}
	require.NoError(t, dial(t, p).say(long), "two were to be lost")

	p = before(t, e)
	p.SwallowRepliesAfter(1)
	c := dial(t, p)
	require.NoError(t, c.say(long))
	require.False(t, p.Swallowed())
	require.Equal(t, errSilent, c.say(short))
	require.True(t, p.Swallowed())
}

func TestCut_UntilJoin_RefusesConnections(t *testing.T) {
	p := before(t, newEcho(t))
	c := dial(t, p)
	require.NoError(t, c.say(long))
	p.Cut()
	require.Equal(t, io.EOF, c.say(long))
	_, err := net.Dial("tcp", p.Addr())
	require.Error(t, err)
	require.NoError(t, p.Join())
	require.NoError(t, dial(t, p).say(long))
}

func TestProxy_AddressMoves_Follows(t *testing.T) {
	one, other := newEcho(t), newEcho(t)
	p := before(t, one)
	c := dial(t, p)
	require.NoError(t, c.say(long))
	require.NoError(t, p.Point(other.addr))
	require.Equal(t, io.EOF, c.say(long))
	require.NoError(t, dial(t, p).say(long))
	require.EqualValues(t, 1, other.heard.Load())
}

func TestProxies_Several_BreakTogether(t *testing.T) {
	one, other := newEcho(t), newEcho(t)
	p, err := faultnet.New(one.addr + "," + other.addr)
	require.NoError(t, err)
	t.Cleanup(p.Close)
	p.Inject(faultnet.Reset)
	addrs := strings.Split(p.Addr(), ",")
	require.Len(t, addrs, 2)
	for _, addr := range addrs {
		c, err := net.Dial("tcp", addr)
		require.NoError(t, err)
		require.Equal(t, io.EOF, client{t, c}.say(long))
		require.NoError(t, c.Close())
	}
}
