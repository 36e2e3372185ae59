package rush

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
)

const (
	drawEvery  = 100 * time.Millisecond // on a terminal
	printEvery = 5 * time.Second        // into a file or a pipe, where nothing can be drawn over
)

// showProgress draws until the caller calls done. It only reads the tally now and then, so it costs the
// buyers nothing.
func (r *run) showProgress() (done func()) {
	if r.ProgressOutput == nil {
		return func() {}
	}
	every, draw, finish := r.lines()
	if onTerminal(r.ProgressOutput) {
		every, draw, finish = r.bar()
	}
	return repeatedly(every, draw, finish)
}

// repeatedly calls do now and then until the caller calls done. It then calls last.
func repeatedly(every time.Duration, do, last func()) (done func()) {
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				do()
			case <-stop:
				last()
				return
			}
		}
	})
	return sync.OnceFunc(func() { close(stop); wg.Wait() })
}

// lines returns how to print a line now and then, so that a short run prints none.
func (r *run) lines() (every time.Duration, draw, finish func()) {
	return printEvery, func() {
		_, text := r.progressLine()
		_, _ = fmt.Fprintln(r.ProgressOutput, text) // progress that cannot be shown does not end the run
	}, func() {}
}

// bar returns how to draw one line over and over, and how to clear it at the end, because the report
// follows.
func (r *run) bar() (every time.Duration, draw, finish func()) {
	bar := progressbar.NewOptions(r.taps(),
		progressbar.OptionSetWriter(r.ProgressOutput),
		progressbar.OptionSetWidth(24),
		progressbar.OptionSetPredictTime(false),
		progressbar.OptionClearOnFinish(),
	)
	draw = func() {
		settled, text := r.progressLine()
		bar.Describe(text)
		_ = bar.Set(settled) // as above
	}
	return drawEvery, draw, func() { draw(); _ = bar.Finish() }
}

// progressLine returns how many taps have an outcome, and the line under the bar. It counts the units left
// from the answers to the buyers, so the units are never ahead of the answers. Once a buyer got the answer
// sold_out, no unit is left: other buyers have the rest.
func (r *run) progressLine() (settled int, text string) {
	asked, accepted, refused, failed, cancelled, soldOut := r.counts()
	left := max(0, r.sale.Left-accepted+cancelled)
	if soldOut && cancelled == 0 {
		left = 0
	}
	text = fmt.Sprintf("asked %d  accepted %d  refused %d  left %d", asked, accepted, refused, left)
	if failed > 0 {
		text += fmt.Sprintf("  failed %d", failed)
	}
	return accepted + refused + failed, text
}

func onTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
