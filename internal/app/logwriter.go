package app

import (
	"bytes"
	"io"
	"sync"
	"time"
)

// maxPendingLog bounds the lines that wait to be written, in bytes, and logCloseTimeout how long
// Close waits for them.
const (
	maxPendingLog   = 1 << 20
	logCloseTimeout = time.Second
)

// LogWriter writes a log without waiting for its reader:
//
//	Write ─▶ 1 MiB of lines ─▶ one goroutine ─▶ to
//
// A pipe that is read by no process, a terminal that was stopped and a disk that is full take no lines,
// and stop nothing: what finds no room is dropped and counted, and the count is logged as soon as
// a line goes through again. The order of lines is kept.
type LogWriter struct {
	to io.Writer

	mu      sync.Mutex
	pending []byte
	lost    int // lines dropped since the log was last told
	dropped int // lines dropped in all
	tell    func(lines int)
	held    func() // logs what is kept back, before the end

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

// Write takes one or more whole lines, or drops them if there is no room. It never fails.
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

// Dropped returns how many lines were dropped.
func (w *LogWriter) Dropped() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.dropped
}

// Last writes a line after all others, those that were kept back too, and closes.
func (w *LogWriter) Last(line string) {
	w.flush()
	_, _ = w.Write([]byte(line + "\n"))
	w.Close()
}

// Close returns when all lines are written, or after a second: a log that takes none does not keep
// the program from ending. What is written later is lost.
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

// serve sets how a number of dropped lines is logged, and what logs the lines that are kept back.
func (w *LogWriter) serve(tell func(lines int), held func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.tell, w.held = tell, held
}

// flush takes what is kept back.
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

// writePending writes until nothing waits. The lines before those that were dropped come first, and
// then their number.
func (w *LogWriter) writePending() {
	for {
		w.mu.Lock()
		lines, lost, tell := w.pending, w.lost, w.tell
		w.pending, w.lost = nil, 0
		w.mu.Unlock()
		if len(lines) == 0 {
			w.mu.Lock()
			w.lost += lost // told after the next line that goes through
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

// drop counts lines that are not written. The caller holds mu.
func (w *LogWriter) drop(lines []byte) {
	n := bytes.Count(lines, []byte("\n"))
	w.lost += n
	w.dropped += n
}
