package app

import (
	"bytes"
	"io"
	"sync"
	"time"
)

// maxPendingLog is the limit on the lines that wait for the writer, in bytes. logCloseTimeout is how long Close waits
// for these lines.
const (
	maxPendingLog   = 1 << 20
	logCloseTimeout = time.Second
)

// LogWriter writes a log without waiting for its reader:
//
//	Write ─▶ 1 MiB of lines ─▶ one goroutine ─▶ to
//
// A pipe without a reader, a stopped terminal and a full disk take no lines, and stop nothing. If there is no room for
// a line, LogWriter drops and counts it. It logs the count as soon as a line goes through again. It keeps the order of
// the lines.
type LogWriter struct {
	to io.Writer

	mu      sync.Mutex
	pending []byte
	lost    int // dropped lines that the log does not mention yet
	dropped int // all dropped lines
	tell    func(lines int)
	held    func() // logs the lines that the calmHandler keeps back, before the end

	wake    chan struct{}
	closing chan struct{}
	closed  sync.Once
	done    chan struct{}
}

// NewLogWriter returns a LogWriter. Close ends it.
func NewLogWriter(to io.Writer) *LogWriter {
	w := &LogWriter{to: to, wake: make(chan struct{}, 1), closing: make(chan struct{}), done: make(chan struct{})}
	go w.run()
	return w
}

// Write takes one or more whole lines, or drops them if there is no room. Its error is always nil.
func (w *LogWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	if len(w.pending)+len(p) > maxPendingLog {
		w.drop(p)
	} else {
		w.pending = append(w.pending, p...)
	}
	w.mu.Unlock()
	select {
	case w.wake <- struct{}{}:
	default: // it is awake
	}
	return len(p), nil
}

// Dropped returns the number of lines that the LogWriter has dropped.
func (w *LogWriter) Dropped() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.dropped
}

// Last writes a line after all others, including the lines that were kept back, and closes w.
func (w *LogWriter) Last(line string) {
	w.flush()
	_, _ = w.Write([]byte(line + "\n"))
	w.Close()
}

// Close returns when all lines are written, or after a second. So the program can end even if the log takes no lines.
// Lines that are written after Close are lost.
func (w *LogWriter) Close() {
	w.closed.Do(func() {
		w.flush()
		close(w.closing)
	})
	select {
	case <-w.done:
	case <-time.After(logCloseTimeout):
	}
}

// serve sets two functions: tell logs a number of dropped lines, and held logs the lines that were kept back.
func (w *LogWriter) serve(tell func(lines int), held func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.tell, w.held = tell, held
}

// flush logs the lines that were kept back.
func (w *LogWriter) flush() {
	w.mu.Lock()
	held := w.held
	w.mu.Unlock()
	if held != nil {
		held()
	}
}

func (w *LogWriter) run() {
	defer close(w.done)
	for open := true; open; {
		select {
		case <-w.wake:
		case <-w.closing:
			open = false
		}
		w.writePending()
	}
}

// writePending writes until no line waits. It writes the lines that came before the dropped lines, and then the number
// of the dropped lines.
func (w *LogWriter) writePending() {
	for {
		w.mu.Lock()
		lines, lost, tell := w.pending, w.lost, w.tell
		w.pending, w.lost = nil, 0
		w.mu.Unlock()
		if len(lines) == 0 {
			w.mu.Lock()
			w.lost += lost // logged after the next line that goes through
			w.mu.Unlock()
			return
		}
		if _, err := w.to.Write(lines); err != nil {
			w.mu.Lock()
			w.drop(lines)
			w.lost += lost
			w.mu.Unlock()
		} else if lost > 0 && tell != nil {
			tell(lost)
		}
	}
}

// drop counts lines that w does not write. The caller holds mu.
func (w *LogWriter) drop(lines []byte) {
	n := bytes.Count(lines, []byte("\n"))
	w.lost += n
	w.dropped += n
}
