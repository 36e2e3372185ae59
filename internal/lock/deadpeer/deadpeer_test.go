package deadpeer

import (
	"context"
	"io"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestDeadPeer_CallNoticesEndFirst_CutsConnection(t *testing.T) {
	server, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = server.Close() }()
	dialed, err := net.Dial("tcp", server.Addr().String())
	require.NoError(t, err)
	d := New()
	conn := d.Track(dialed)
	defer func() { _ = conn.Close() }()
	silent, err := server.Accept()
	require.NoError(t, err)
	defer func() { _ = silent.Close() }()
	_, err = conn.Write([]byte("a request"))
	require.NoError(t, err)

	ctx := late{Context: t.Context(), ended: make(chan struct{})}
	done := d.Watch(ctx)
	close(ctx.ended)
	done()
	require.NoError(t, silent.SetReadDeadline(time.Now().Add(5*time.Second)))
	_, err = io.ReadAll(silent)
	require.NoError(t, err, "the connection was not cut")
}

// late is a context that ends and whose functions (context.AfterFunc) are not run yet:
// a caller that waits for the end of any context may find it so, for a moment.
type late struct {
	context.Context

	ended chan struct{}
}

func (l late) Done() <-chan struct{} { return l.ended }

func (l late) Err() error {
	select {
	case <-l.ended:
		return context.Canceled
	default:
		return nil
	}
}

// AfterFunc is what context.AfterFunc asks of a context that is not of its own package.
func (l late) AfterFunc(func()) (stop func() bool) { return func() bool { return true } }
