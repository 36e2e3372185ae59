package api

import (
	"context"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"
)

// heartbeatInterval is the silence after which a stream sends a comment.
const heartbeatInterval = 10 * time.Second

// writeTimeout is how long a client may take to accept one event.
const writeTimeout = 10 * time.Second

// live streams a coupon's sale as server-sent events until the client leaves or the server stops.
func (s *Server) live(c *gin.Context) string {
	in := input{c: c}
	id := in.id()
	if in.err != nil {
		return s.refuse(c, in.err)
	}
	ctx, cancel := context.WithTimeout(c.Request.Context(), s.o.RequestTimeout)
	_, err := s.deps.Coupons.Get(ctx, id)
	cancel()
	if err != nil {
		return s.refuse(c, err)
	}
	if c.Request.Method == http.MethodHead {
		writeStreamHeader(c)
		c.Writer.WriteHeaderNow()
		return ""
	}
	events, leave, err := s.hub.join(id, addressKey(c.ClientIP()))
	if err != nil {
		return s.refuse(c, err)
	}
	defer leave()
	writeStreamHeader(c)
	s.stream(c, events)
	return ""
}

func writeStreamHeader(c *gin.Context) {
	h := c.Writer.Header()
	h["Content-Type"] = []string{"text/event-stream"}
	h["Cache-Control"] = noStore
	h["X-Accel-Buffering"] = []string{"no"} // a proxy must not wait for the end
	c.Status(http.StatusOK)
}

// stream writes events until the client leaves or events is closed. It sets the connection's write
// deadline anew for each event.
func (s *Server) stream(c *gin.Context, events <-chan []byte) {
	conn := http.NewResponseController(c.Writer)
	send := func(text []byte) bool {
		_ = conn.SetWriteDeadline(time.Now().Add(writeTimeout)) // a writer without deadlines needs none
		_, err := c.Writer.Write(text)
		return err == nil && conn.Flush() == nil
	}
	if !send([]byte("retry: 2000\n\n")) {
		return
	}
	alive := time.NewTicker(heartbeatInterval)
	defer alive.Stop()
	for {
		var text []byte
		select {
		case <-c.Request.Context().Done():
			return
		case event, open := <-events:
			if !open {
				return
			}
			text = event
			alive.Reset(heartbeatInterval)
		case <-alive.C:
			text = []byte(": alive\n\n")
		}
		if !send(text) {
			return
		}
	}
}
