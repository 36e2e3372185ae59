// Package clock tells one time to every instance of a fleet: that of most clocks.
//
// The ages of orders, the window of a sale and the time to pay are decided by whichever
// instance comes to it, from times that others wrote. Clocks of machines differ, and are
// set. So an instance holds its own against those of the servers that all have in common,
// and goes by the one in the middle: one clock that is wrong, its own or a server's,
// decides nothing.
//
//	began ──ask──▶ server: at      ahead = (began + ended) / 2 - at, give or take half
//	ended ◀───────────────┘        Now   = own - the middle of { 0, ahead of each server }
//
// Between two readings it goes by the monotonic clock: that the machine's time of day is
// set changes nothing.
package clock

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Reading is how the clock of this instance and that of a server differ.
type Reading struct {
	Server string
	Ahead  time.Duration // this instance before the server; negative: behind it
	Within time.Duration // the error of Ahead: half of the round trip

	told, when time.Time // what the server has told, and the moment of that by the monotonic clock
}

// now is what the server would tell now.
func (r Reading) now() time.Time { return r.told.Add(time.Since(r.when)) }

// Apart returns the least that the clocks certainly differ.
func (r Reading) Apart() time.Duration { return max(0, r.Ahead.Abs()-r.Within) }

// Clock returns the time that most clocks agree on, and its own before that is known.
type Clock struct {
	own    func() time.Time
	agreed atomic.Pointer[moment] // nil before Agree; read by every request

	mu     sync.Mutex
	latest map[string]Reading // by server
}

// moment is one moment by the monotonic clock, and by the clock of most.
type moment struct{ from, is time.Time }

// New makes a Clock over the instance's own one, which may be set at any time; nil is
// time.Now.
func New(own func() time.Time) *Clock {
	if own == nil {
		own = time.Now
	}
	return &Clock{own: own, latest: map[string]Reading{}}
}

// Now returns the time.
func (c *Clock) Now() time.Time {
	if m := c.agreed.Load(); m != nil {
		return m.is.Add(time.Since(m.from))
	}
	return c.own()
}

// attempts is how often a server is asked: the quickest answer tells best, and the first
// one may have waited for its connection.
const attempts = 3

// Read asks a server for its time, and remembers the difference.
func (c *Clock) Read(ctx context.Context, server string, ask func(context.Context) (time.Time, error)) (Reading, error) {
	var best Reading
	for try := range attempts {
		own, began := c.own(), time.Now()
		at, err := ask(ctx)
		if err != nil {
			return Reading{}, fmt.Errorf("the time of %s: %w", server, err)
		}
		within := time.Since(began) / 2
		if try == 0 || within < best.Within {
			// Round(0) leaves the time of day, which is what is compared.
			best = Reading{
				Server: server, Ahead: own.Add(within).Round(0).Sub(at), Within: within,
				told: at.Round(0), when: began.Add(within),
			}
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.latest[server] = best
	return best, nil
}

// near is how far from the middle the own clock may be and be gone by: it is kept more
// exactly than a busy network tells.
const near = 250 * time.Millisecond

// Agree sets the clock by the middle of what the servers would tell now and the own one, which may have
// been set since they were read.
func (c *Clock) Agree() {
	c.mu.Lock()
	defer c.mu.Unlock()
	from, own := time.Now(), c.own().Round(0)
	ahead := []time.Duration{0}
	for _, r := range c.latest {
		ahead = append(ahead, own.Sub(r.now()))
	}
	slices.Sort(ahead)
	middle := ahead[len(ahead)/2]
	if len(ahead)%2 == 0 { // of the two, the one that changes less
		if other := ahead[len(ahead)/2-1]; other.Abs() < middle.Abs() {
			middle = other
		}
	}
	if middle.Abs() < near {
		middle = 0
	}
	c.agreed.Store(&moment{from, own.Add(-middle)})
}

// Worst returns the latest reading of the server whose clock is farthest from this one.
func (c *Clock) Worst() Reading {
	c.mu.Lock()
	defer c.mu.Unlock()
	var worst Reading
	for _, r := range c.latest {
		if worst.Server == "" || r.Apart() > worst.Apart() {
			worst = r
		}
	}
	return worst
}

// Forget drops the readings of servers that are not among the given ones: they left.
func (c *Clock) Forget(but map[string]bool) (gone []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for server := range c.latest {
		if !but[server] {
			delete(c.latest, server)
			gone = append(gone, server)
		}
	}
	return gone
}
