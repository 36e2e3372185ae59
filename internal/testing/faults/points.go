package faults

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// Points are the points of one process, with the faults that are armed. The zero
// value has none.
type Points struct {
	mu     sync.Mutex
	armed  []Fault
	passes map[string]int // since the faults were armed
	struck map[string]int // faults by their text: how often each struck

	ahead   atomic.Int64 // of the right time, in nanoseconds: what Now says
	witness witness

	die func(Action) // replaces the signal in tests; may be nil
}

// Arm replaces the armed faults and counts passes from 0 again. Without faults it disarms.
func (p *Points) Arm(all ...Fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.armed, p.passes, p.struck = all, map[string]int{}, map[string]int{}
}

// State counts passes and faults since the faults were armed.
type State struct {
	Armed  []string       `json:"armed"`
	Passes map[string]int `json:"passes"` // by point
	Struck map[string]int `json:"struck"` // by fault
	// Broken counts, by rule, how often this process has broken a rule about users' locks, ever.
	Broken map[string]int `json:"broken"`
}

// State returns the armed faults and the counts since then.
func (p *Points) State() State {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := State{Armed: []string{}, Passes: maps.Clone(p.passes), Struck: maps.Clone(p.struck), Broken: p.witness.said()}
	for _, f := range p.armed {
		s.Armed = append(s.Armed, f.String())
	}
	return s
}

// pass counts a pass and returns the action that strikes now, or "".
func (p *Points) pass(point string) Action {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.armed) == 0 {
		return ""
	}
	p.passes[point]++
	for _, f := range p.armed {
		if f.Point == point && f.strikes(p.passes[point]) {
			p.struck[f.String()]++
			return f.Action
		}
	}
	return ""
}

// errCut is the error of a call whose connection is cut.
var errCut net.Error = &net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET}

// slow is how much longer a delayed step takes.
const slow = 500 * time.Millisecond

// hit crosses a point. lost is the error of a lost connection there; nil stands for errCut.
func (p *Points) hit(ctx context.Context, point string, lost error) error {
	switch action := p.pass(point); action {
	case Kill, Stop:
		p.end(action)
	case Delay:
		select {
		case <-time.After(slow):
		case <-ctx.Done():
		}
	case Lose:
		if lost == nil {
			return errCut
		}
		return fmt.Errorf("%w: %w", lost, errCut)
	}
	return nil
}

// hitMany crosses a point once for each of n orders. A fault that strikes one order strikes the step of all.
func (p *Points) hitMany(ctx context.Context, n int, point string, lost error) (err error) {
	for range n {
		if e := p.hit(ctx, point, lost); e != nil {
			err = e
		}
	}
	return err
}

// atMany is at for a step that is done once for n orders.
func (p *Points) atMany(ctx context.Context, n int, step string, lost error, do func()) error {
	if err := p.hitMany(ctx, n, step+".before", lost); err != nil {
		return err
	}
	for range n {
		if action := p.pass(step + ".during"); action != "" {
			p.soon(action)
		}
	}
	do()
	return p.hitMany(ctx, n, step+".after", lost)
}

// at does a step with its three points around it. A step that fails by itself does not reach the
// last one.
func (p *Points) at(ctx context.Context, step string, lost error, do func() error) error {
	if err := p.hit(ctx, step+".before", lost); err != nil {
		return err
	}
	if action := p.pass(step + ".during"); action != "" {
		p.soon(action)
	}
	if err := do(); err != nil {
		return err
	}
	return p.hit(ctx, step+".after", lost)
}

// while bounds when a fault during a step strikes, from the step's beginning on.
const while = 2 * time.Millisecond

// soon lets an action strike while the caller goes on.
func (p *Points) soon(action Action) {
	time.AfterFunc(rand.N(while), func() { p.end(action) }) //nolint:gosec // any moment will do
}

// quiet is longer than a signal to the own process takes.
const quiet = 20 * time.Millisecond

// end kills or stops this process. From a stop it returns after SIGCONT: the caller must not go on
// while the signal is under way.
func (p *Points) end(action Action) {
	if p.die != nil {
		p.die(action)
		return
	}
	if action == Kill {
		killSelf()
		select {}
	}
	stopSelf()
	time.Sleep(quiet)
}
