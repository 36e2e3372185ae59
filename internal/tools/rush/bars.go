package rush

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"example.com/seckill/internal/platform/system"
)

const (
	drawEvery  = 100 * time.Millisecond // on a terminal
	printEvery = 5 * time.Second        // into a file or a pipe, where nothing can be drawn over
)

// showProgress draws until the caller calls done. It only reads the tally now and then, so it costs the
// buyers nothing. A terminal on which the lines of the bars would wrap gets plain lines.
func (r *run) showProgress() (done func()) {
	if r.ProgressOutput == nil {
		return func() {}
	}
	if f, is := r.ProgressOutput.(*os.File); is && system.IsColourTerminal(f) && system.Columns(f) >= textWidth {
		draw, erase := r.drawBars()
		return repeatedly(drawEvery, draw, erase)
	}
	return repeatedly(printEvery, r.printProgress, func() {})
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

// printProgress prints one line. A short run prints none.
func (r *run) printProgress() {
	at := r.standing()
	line := fmt.Sprintf("%s sold of %s, %s of %s requests answered: %s orders, %s refused",
		number(at.sold()), number(at.units), number(at.settled()), number(at.requests), number(at.orders), number(at.refused))
	if at.noAnswer > 0 {
		line += ", " + number(at.noAnswer) + " without an answer"
	}
	_, _ = fmt.Fprintln(r.ProgressOutput, line) // progress that cannot be shown does not end the run
}

// The escape sequences of the bars.
const (
	lineUp    = "\x1b[1A"
	clearDown = "\r\x1b[J" // from the start of the line
)

// drawBars returns how to draw both bars over themselves, and how to erase them at the end, because the report follows.
// The cursor stays on the second line, which has no line break, so a line of the log ends the drawing and no more.
func (r *run) drawBars() (draw, erase func()) {
	drawn := false
	write := func(text string) {
		if drawn {
			text = "\r" + lineUp + clearDown + text
		}
		_, _ = io.WriteString(r.ProgressOutput, text)
	}
	return func() { write(strings.TrimSuffix(r.standing().bars(), "\n")); drawn = true }, func() { write("") }
}

// standing is how far a run has come.
type standing struct {
	units, left                         int // of the coupon, for the buyers of the run
	requests, orders, refused, noAnswer int
}

// standing counts the units left from the answers to the buyers, so the units are never ahead of the answers. Once a
// buyer got the answer sold_out, no unit is left: other buyers have the rest.
func (r *run) standing() standing {
	_, accepted, refused, failed, cancelled, soldOut := r.counts()
	at := standing{units: r.sale.Left, requests: r.taps(), orders: accepted, refused: refused, noAnswer: failed}
	if at.left = max(0, r.sale.Left-accepted+cancelled); soldOut && cancelled == 0 {
		at.left = 0
	}
	return at
}

func (s standing) sold() int    { return s.units - s.left }
func (s standing) settled() int { return s.orders + s.refused + s.noAnswer }

// bars returns two lines: the stock, in which the decisive second is, and the people.
func (s standing) bars() string {
	stock := number(s.left) + " left of " + number(s.units)
	if s.left == 0 {
		stock = "sold out"
	}
	return bar("coupons", s.sold(), s.units, stock) +
		bar("people", s.settled(), s.requests, number(s.settled())+" of "+number(s.requests)+" requests")
}

// barWidth is the width of a bar in columns. With the longest text a line has 78.
const barWidth = 34

// bar returns a line with a bar of which n of all are full.
func bar(name string, n, all int, text string) string {
	full := barWidth
	if all > 0 {
		full = min(barWidth, n*barWidth/all)
	}
	return fmt.Sprintf("  %-8s %s%s  %s\n", name, strings.Repeat("█", full), strings.Repeat("░", barWidth-full), text)
}
