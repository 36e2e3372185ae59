// Package clock provides one time to every instance of a deployment: the time of most clocks.
//
// Any instance may decide the age of an order, the window of a sale and the time to pay, from times that
// other instances wrote. Clocks of machines differ, and operators set them. So an instance compares its own
// clock with the clocks of the servers that all instances share. It uses the clock in the middle: one wrong
// clock, its own or a server's, decides nothing.
//
//	began ──ask──▶ server: at      ahead = (began + ended) / 2 - at, give or take half
//	ended ◀───────────────┘        Now   = own - the middle of { 0, ahead of each server }
//
// Between two readings the instance uses the monotonic clock. If the machine's time of day is set, the
// result does not change.
package clock

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Reading is the difference between the clock of this instance and the clock of a server.
type Reading struct {
	Server string
	Ahead  time.Duration // this instance before the server; negative: behind it
	Within time.Duration // the error of Ahead: half of the round trip

	told, when time.Time // the server's time, and the moment of that time by the monotonic clock
}

// now returns the server's present time: the time of the reading plus the time that has passed since.
func (r Reading) now() time.Time { return r.told.Add(time.Since(r.when)) }

// Apart returns the least by which the clocks certainly differ.
func (r Reading) Apart() time.Duration { return max(0, r.Ahead.Abs()-r.Within) }

// Clock returns the time that most clocks agree on. Before the first Agree it returns the instance's own
// time.
type Clock struct {
	own    func() time.Time
	agreed atomic.Pointer[moment] // nil before Agree; read by every request

	mu     sync.Mutex
	latest map[string]Reading // by server
}

// moment is one moment by the monotonic clock, and by the clock of most.
type moment struct{ from, is time.Time }

// New returns a Clock over the instance's own clock, which may be set at any time. If own is nil, the Clock
// uses time.Now.
func New(own func() time.Time) *Clock {
	if own == nil {
		own = time.Now
	}
	return &Clock{own: own, latest: map[string]Reading{}}
}

// Now returns the time of most clocks, or the instance's own time before the first Agree.
func (c *Clock) Now() time.Time {
	if m := c.agreed.Load(); m != nil {
		return m.is.Add(time.Since(m.from))
	}
	return c.own()
}

// attempts is the number of times that Read asks a server. The quickest answer is the most exact, and the
// first request may wait for its connection.
const attempts = 3

// Read asks a server for its time, and stores the difference.
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
			// Round(0) leaves the time of day: the difference is one of times of day.
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

// near is how far from the middle the own clock may be and still be used. Machines keep their clocks more
// exactly than a busy network can measure.
const near = 250 * time.Millisecond

// Agree sets the clock to the middle of the servers' present times and the instance's own time. The own
// clock may have been set since Read.
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
	if len(ahead)%2 == 0 { // of the two in the middle, the smaller change
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

// Forget drops the readings of the servers that are not among the given ones, because they left. It returns
// their names.
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
