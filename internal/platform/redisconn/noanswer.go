package redisconn

import (
	"context"
	"errors"
	"net"
	"syscall"

	"github.com/redis/go-redis/v9"
)

// ErrNoAnswer says that a cluster's connection failed after it was made: the
// command may have been executed or not. The client of a single server and of
// sentinels gives the network's own error instead.
var ErrNoAnswer = errors.New("redis gave no answer, the command may have been executed")

// dialOnceAnswered returns a dialer whose connections fail with an error that
// the cluster client does not know.
//
// The client follows redirections and repeats commands after network errors in
// one loop, counted by MaxRedirects: without the loop no MOVED is followed, and
// with it a lost reply executes the command again, whatever MaxRetries says. It
// repeats what looks like an end of file, a timeout or a reset. So these are
// renamed at their source, which covers pipelines too. An error of dialing is
// left as it is: nothing was sent, and repeating is right.
func (o Options) dialOnceAnswered() func(context.Context, string, string) (net.Conn, error) {
	dial := redis.NewDialer(&redis.Options{DialTimeout: o.DialTimeout, TLSConfig: o.TLS})
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		if tcp, ok := c.(syscall.Conn); ok {
			return rawConn{conn{c}, tcp}, nil
		}
		return conn{c}, nil
	}
}

// conn renames the errors of a connection.
type conn struct{ net.Conn }

// Read reads, and fails with ErrNoAnswer.
func (c conn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	return n, renamed(err)
}

// Write writes, and fails with ErrNoAnswer: some commands of a pipeline may be
// through.
func (c conn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	return n, renamed(err)
}

// rawConn also shows its socket, by which the pool sees that an idle connection
// was closed, before a command is lost on it.
type rawConn struct {
	conn
	raw syscall.Conn
}

// SyscallConn returns the socket.
func (c rawConn) SyscallConn() (syscall.RawConn, error) {
	return c.raw.SyscallConn() //nolint:wrapcheck // the pool gets what the socket says
}

// noAnswerError is ErrNoAnswer with its cause in words. It does not unwrap to the
// cause, and has no Timeout method, because the client would find them.
type noAnswerError struct{ cause string }

func (e noAnswerError) Error() string { return ErrNoAnswer.Error() + ": " + e.cause }

// Is reports whether target is ErrNoAnswer.
func (e noAnswerError) Is(target error) bool { return target == ErrNoAnswer }

func renamed(err error) error {
	if err == nil {
		return nil
	}
	return noAnswerError{err.Error()}
}
