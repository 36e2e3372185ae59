package main

import (
	"bytes"
	"context"
	"net"
	"strconv"
	"sync/atomic"

	"github.com/redis/go-redis/v9"
)

// commandCounter counts the commands that clients send to Redis, those of subscriptions too.
// It is a redis.Hook.
type commandCounter struct{ sent atomic.Int64 }

var _ redis.Hook = (*commandCounter)(nil)

// DialHook puts a counter on every connection.
func (w *commandCounter) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := next(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return &counted{Conn: c, w: w}, nil
	}
}

// ProcessHook changes nothing.
func (w *commandCounter) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }

// ProcessPipelineHook changes nothing.
func (w *commandCounter) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// counted reads along: a command is an array of strings, "*2\r\n$3\r\nGET\r\n$1\r\nk\r\n".
// One goroutine writes to a connection at a time.
type counted struct {
	net.Conn

	w    *commandCounter
	line []byte // the beginning of a line whose end has not been written yet
	skip int    // bytes of a string, and the end of its line, still to come
}

// Write passes b on.
func (c *counted) Write(b []byte) (int, error) {
	c.read(b)
	return c.Conn.Write(b)
}

func (c *counted) read(b []byte) {
	for len(b) > 0 {
		if c.skip > 0 {
			n := min(c.skip, len(b))
			c.skip, b = c.skip-n, b[n:]
			continue
		}
		end := bytes.IndexByte(b, '\n')
		if end < 0 {
			c.line = append(c.line, b...)
			return
		}
		line := bytes.TrimSuffix(append(c.line, b[:end]...), []byte{'\r'})
		c.line, b = c.line[:0], b[end+1:]
		if len(line) == 0 {
			continue
		}
		switch n, _ := strconv.Atoi(string(line[1:])); line[0] {
		case '*':
			c.w.sent.Add(1)
		case '$':
			c.skip = n + len("\r\n")
		}
	}
}
