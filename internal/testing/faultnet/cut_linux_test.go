package faultnet_test

import (
	"errors"
	"net"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/testing/faultnet"
)

// ended reports whether the connection is known to have ended, without waiting for it.
func (c client) ended() bool {
	raw, err := c.Conn.(*net.TCPConn).SyscallConn()
	require.NoError(c.t, err)
	var said error
	require.NoError(c.t, raw.Read(func(fd uintptr) bool {
		_, _, said = syscall.Recvfrom(int(fd), make([]byte, 1), syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		return true
	}))
	return !errors.Is(said, syscall.EAGAIN)
}

func TestClose_ClientConnected_WaitsForItsEnd(t *testing.T) {
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	c, err := net.Dial("tcp", l.Addr().String())
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	server, err := l.Accept()
	require.NoError(t, err)
	returned := make(chan struct{})
	go func() {
		defer close(returned)
		faultnet.AwaitEnds(l.Addr().String())
	}()
	select {
	case <-returned:
		t.Fatal("the client has a connection")
	case <-time.After(short):
	}
	require.NoError(t, server.Close())
	<-returned
	require.True(t, client{t, c}.ended())
}

// A client that looks at its idle connections before it uses one must see all of them ended.
func TestCut_EveryClient_NoticesIt(t *testing.T) {
	p, err := faultnet.New(newEcho(t).addr)
	require.NoError(t, err)
	t.Cleanup(p.Close)
	for range 20 {
		var clients []client
		for range 50 {
			c := dial(t, p)
			require.NoError(t, c.say(long))
			clients = append(clients, c)
		}
		p.Cut()
		for _, c := range clients {
			require.True(t, c.ended())
		}
		require.NoError(t, p.Join())
	}
}
