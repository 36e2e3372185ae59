package app

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"time"
)

// calmHandler logs one warning per cause and minute. It logs the first warning at once. At the end of the minute it
// logs the last of the later warnings, with their number as "times". The message of a warning, the cause of its error
// and the attributes of calmScope identify a cause. Other levels pass.
type calmHandler struct {
	slog.Handler
	*calm
	scope string // the part of the cause that comes from the attributes of the logger
}

// calmScope has the attributes whose values distinguish causes.
var calmScope = map[string]bool{"task": true, "backend": true, "server": true, "check": true, "coupon": true, "cause": true}

// calm has the warnings of the last minute, by cause.
type calm struct {
	mu   sync.Mutex
	seen map[string]*repeated
}

// repeated is a cause that was logged less than a minute ago, with its latest warning.
type repeated struct {
	to    slog.Handler
	last  slog.Record
	times int // warnings since the last line of the cause
	timer *time.Timer
}

func newCalmHandler(next slog.Handler) calmHandler {
	return calmHandler{Handler: next, calm: &calm{seen: map[string]*repeated{}}}
}

// Handle implements slog.Handler.
func (h calmHandler) Handle(ctx context.Context, r slog.Record) error {
	if r.Level == slog.LevelWarn && h.hold(h.Handler, h.scope+causeOf(r), r) {
		return nil
	}
	return h.Handler.Handle(ctx, r) //nolint:wrapcheck // it is the handler's own error
}

// WithAttrs implements slog.Handler.
func (h calmHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	h.Handler = h.Handler.WithAttrs(attrs)
	for _, a := range attrs {
		h.scope += scopeOf(a)
	}
	return h
}

// WithGroup implements slog.Handler.
func (h calmHandler) WithGroup(name string) slog.Handler {
	h.Handler = h.Handler.WithGroup(name)
	return h
}

// causeOf returns the text that identifies the cause of a warning.
func causeOf(r slog.Record) string {
	var of strings.Builder
	of.WriteString(r.Message)
	r.Attrs(func(a slog.Attr) bool {
		of.WriteString(scopeOf(a))
		return true
	})
	return of.String()
}

func scopeOf(a slog.Attr) string {
	if err, ok := a.Value.Any().(error); ok {
		return "\x00" + cause(err)
	}
	if calmScope[a.Key] {
		return "\x00" + a.Value.String()
	}
	return ""
}

// hold keeps a record back if its cause was logged less than a minute ago, and reports whether it did.
func (c *calm) hold(to slog.Handler, of string, r slog.Record) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if seen := c.seen[of]; seen != nil {
		seen.to, seen.last = to, r.Clone()
		seen.times++
		return true
	}
	c.seen[of] = &repeated{timer: time.AfterFunc(calmInterval(), func() { c.turn(of) })}
	return false
}

// turn ends a minute of a cause.
func (c *calm) turn(of string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	seen := c.seen[of]
	if seen == nil {
		return // flushed
	}
	if seen.times == 0 {
		delete(c.seen, of)
		return
	}
	seen.log()
	seen.timer.Reset(calmInterval())
}

// flush logs the records that hold has kept back.
func (c *calm) flush() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for of, seen := range c.seen {
		seen.timer.Stop()
		delete(c.seen, of)
		if seen.times > 0 {
			seen.log()
		}
	}
}

func (r *repeated) log() {
	r.last.AddAttrs(slog.Int("times", r.times))
	r.times = 0
	_ = r.to.Handle(context.Background(), r.last) // its error is dropped, as for every other line
}
