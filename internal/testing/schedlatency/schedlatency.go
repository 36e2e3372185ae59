// Package schedlatency measures the scheduling latency of this machine: how late it wakes a thread of the
// highest priority. No process delays such a thread. The latency shows how much of a long call, or of a
// percentile, may come from the machine itself.
package schedlatency

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"example.com/seckill/internal/tools/servers"
)

// Command is the package of the program that Start starts.
const Command = "example.com/seckill/internal/testing/cmd/schedlatency"

// Nap is how long the threads sleep at a time. The measurement of a delay that begins during a nap is up to Nap
// too short. Shorter naps would measure more, but disturb the measured program.
const Nap = 5 * time.Millisecond

// Watch is a process that measures the latency. A nil *Watch measures nothing and returns 0.
type Watch struct {
	in    io.WriteCloser
	out   *bufio.Reader
	gone  <-chan struct{}
	wrong *bytes.Buffer // its standard error, to be read once it is gone
}

// Start starts the program, which was built from Command. The program ends with this process, or by Close.
// Start returns an error if the latency cannot be measured, for example without the right to that priority.
func Start(ctx context.Context, program string) (*Watch, error) {
	cmd := exec.Command(program) //nolint:noctx // built by ourselves; Close ends it
	w := &Watch{wrong: &bytes.Buffer{}}
	in, err := cmd.StdinPipe()
	out, failed := cmd.StdoutPipe()
	if err = errors.Join(err, failed); err != nil {
		return nil, fmt.Errorf("start %s: %w", program, err)
	}
	w.in, w.out, cmd.Stderr = in, bufio.NewReader(out), w.wrong
	if w.gone, err = servers.Start(cmd); err != nil {
		return nil, err
	}
	if _, err := w.Longest(ctx); err != nil {
		w.Close()
		return nil, err
	}
	return w, nil
}

// Longest returns the longest delay of a thread since the call before. The machine's longest delay was this
// long, or up to Nap longer. After an error, including the error of ctx, the process has ended.
func (w *Watch) Longest(ctx context.Context) (time.Duration, error) {
	if w == nil {
		return 0, nil
	}
	stop := context.AfterFunc(ctx, func() { _ = w.in.Close() }) // this ends the process, and the answer
	defer stop()
	_, err := w.in.Write([]byte("\n"))
	line := ""
	if err == nil {
		line, err = w.out.ReadString('\n')
	}
	switch {
	case ctx.Err() != nil:
		return 0, context.Cause(ctx)
	case err != nil:
		<-w.gone
		return 0, fmt.Errorf("ask how late threads are woken: %w: %s", err, strings.TrimSpace(w.wrong.String()))
	}
	nanos, err := strconv.ParseInt(strings.TrimSpace(line), 10, 64)
	return time.Duration(nanos), err
}

// Close ends the process.
func (w *Watch) Close() {
	if w == nil {
		return
	}
	_ = w.in.Close() // it may have been closed by a context
	<-w.gone
}
