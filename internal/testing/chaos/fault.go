package chaos

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"time"

	"example.com/seckill/internal/testing/faults"
)

// Fault is one way in which things go wrong in a round.
type Fault struct {
	Name string // as "commit.after:kill"

	kind  kind
	point string                        // where a fault of the path strikes; "" of another
	arm   func(r *round) map[int]string // faults of each instance, before the crowd comes
	harm  func(ctx context.Context, r *round) (struck bool, err error)
	pause time.Duration // of an instance that is stopped; 0: paused
	limit int           // units that a user may have; 0: one or two
	races bool          // buyers pay in the moment in which their order expires
	once  bool          // every buyer taps once: what is under the fault has no other way
	whole bool          // nothing is lost: no epoch may end, and no request be given up
	// before is done before the crowd comes; may be nil.
	before func(ctx context.Context, r *round) error
	plenty bool          // there are units for all
	crowd  int           // times as many taps as the others have; 0: as many
	lasts  time.Duration // the first part of the crowd comes so slowly, until the fault is over; 0: as fast as it can
	queue  bool          // has a meaning in queue mode only

	farRedis, farDatabase bool // the store is farAway for the whole round
	coupons               int  // small ones that are on sale at the same time
	repeats               bool // every refused key is repeated
	late                  bool // it strikes when few units are left
}

// The modes of a fleet, as order.mode names the first two. In the third the queue's first buyers are drawn.
const (
	Sync    = "sync"
	Queue   = "queue"
	Lottery = "lottery"
)

// Modes are all of them.
var Modes = []string{Sync, Queue, Lottery}

// queues reports whether the requests of a mode are queued.
func queues(mode string) bool { return mode == Queue || mode == Lottery }

// WriteNames writes the names of faults, a line each.
func WriteNames(w io.Writer, faults []Fault) error {
	for _, f := range faults {
		if _, err := fmt.Fprintln(w, f.Name); err != nil {
			return fmt.Errorf("list the faults: %w", err)
		}
	}
	return nil
}

// Faults lists every fault of a mode whose name the pattern matches; an empty one matches
// all. With queues there are those of the queue besides all others.
func Faults(mode, pattern string) ([]Fault, error) {
	match, err := regexp.Compile(pattern)
	if err != nil {
		return nil, fmt.Errorf("the pattern of cells: %w", err)
	}
	var some []Fault
	for _, c := range slices.Concat(stepFaults(), storeFaults(), manualFaults(), queueFaults(),
		historyFaults(), failoverFaults(), evictions(), clockFaults(), rightsFaults(), floodFaults(), moveFaults(), upgradeFaults(),
		distances(), manyFaults(), repeatFaults()) {
		if match.MatchString(c.Name) && (queues(mode) || !c.queue) {
			some = append(some, c)
		}
	}
	if len(some) == 0 {
		return nil, fmt.Errorf("no cell is called like %q", pattern)
	}
	return some, nil
}

// stepFault is a fault at a point of the path.
type stepFault struct {
	point string
	pass  int    // the fault strikes at a random pass up to this
	with  string // other faults that lead the way to the point
	late  bool   // the point is crossed by the background work, of any instance
	kind  kind
	queue bool // only what is queued comes there
}

// unknown makes a part of the commits unknown, and leaves some of them so.
const unknown = "commit.before:lose:2/5,commit.after:lose:4/7"

// stranded leaves holds open, of orders and of none.
const stranded = unknown + ",void.before:lose:1/2,confirm.before:lose:1/3,release.before:lose:1/2"

// astray lets half of the entries be given away and never be served.
const astray = "next.after:lose:1/2,claim.after:lose:1/1"

var stepPoints = []stepFault{
	{point: "reserve.before", pass: 80},
	{point: "reserve.during", pass: 80},
	{point: "reserve.after", pass: 60},
	{point: "lock.before", pass: 60},
	{point: "acquire.before", pass: 60},
	{point: "acquire.during", pass: 60},
	{point: "acquire.after", pass: 60},
	{point: "work.before", pass: 60},
	{point: "begin.after", pass: 60},
	{point: "fence.after", pass: 60},
	{point: "slot.after", pass: 60},
	{point: "insert.after", pass: 60},
	{point: "take.after", pass: 60},
	{point: "commit.before", pass: 60},
	{point: "commit.during", pass: 60},
	{point: "commit.after", pass: 60},
	{point: "void.before", pass: 3, with: unknown},
	{point: "void.during", pass: 3, with: unknown},
	{point: "void.after", pass: 2, with: unknown},
	{point: "unresolved.before", pass: 3, with: unknown + ",void.before:lose:1/2"},
	{point: "unresolved.after", pass: 3, with: unknown + ",void.before:lose:1/2"},
	{point: "work.after", pass: 60},
	{point: "unlock.before", pass: 60},
	{point: "unlock.during", pass: 60},
	{point: "unlock.after", pass: 60},
	{point: "lock.after", pass: 60},
	{point: "confirm.before", pass: 60},
	{point: "confirm.during", pass: 60},
	{point: "confirm.after", pass: 60},
	{point: "release.before", pass: 2},
	{point: "release.during", pass: 2},
	{point: "release.after", pass: 2},

	{point: "next.after", pass: 40, queue: true},
	{point: "claim.after", pass: 1, with: "next.after:lose:3/5", late: true, queue: true},
	{point: "acknowledge.before", pass: 60, queue: true},
	{point: "acknowledge.during", pass: 60, queue: true},
	{point: "acknowledge.after", pass: 60, queue: true},

	{point: "pay.after", pass: 6},
	{point: "pay.commit.before", pass: 6},
	{point: "pay.commit.during", pass: 6},
	{point: "pay.commit.after", pass: 6},
	{point: "cancel.after", pass: 6},
	{point: "giveback.after", pass: 6},
	{point: "cancel.commit.before", pass: 6},
	{point: "cancel.commit.during", pass: 6},
	{point: "cancel.commit.after", pass: 6},
	{point: "restock.before", pass: 6},
	{point: "restock.during", pass: 6},
	{point: "restock.after", pass: 6},

	{point: "relay.restock.before", pass: 3, with: "restock.before:lose:1/1", late: true},
	{point: "relay.restock.during", pass: 3, with: "restock.before:lose:1/1", late: true},
	{point: "relay.restock.after", pass: 3, with: "restock.after:lose:1/1", late: true},
	{point: "relay.done.before", pass: 3, with: "restock.before:lose:1/1", late: true},
	{point: "relay.done.during", pass: 3, with: "restock.before:lose:1/1", late: true},
	{point: "relay.done.after", pass: 3, with: "restock.before:lose:1/1", late: true},

	{point: "reconcile.void.before", pass: 3, with: stranded, late: true},
	{point: "reconcile.void.during", pass: 3, with: stranded, late: true},
	{point: "reconcile.void.after", pass: 2, with: stranded, late: true},
	{point: "reconcile.confirm.before", pass: 3, with: stranded, late: true},
	{point: "reconcile.confirm.during", pass: 3, with: stranded, late: true},
	{point: "reconcile.confirm.after", pass: 3, with: stranded, late: true},
	{point: "reconcile.release.before", pass: 2, with: stranded, late: true},
	{point: "reconcile.release.during", pass: 2, with: stranded, late: true},
	{point: "reconcile.release.after", pass: 2, with: stranded, late: true},

	{point: "raise.before", pass: 1, late: true},
	{point: "raise.during", pass: 1, late: true},
	{point: "raise.after", pass: 1, late: true},

	{point: "expire.after", pass: 2, late: true, kind: expiring},
	{point: "expire.commit.before", pass: 2, late: true, kind: expiring},
	{point: "expire.commit.during", pass: 2, late: true, kind: expiring},
	{point: "expire.commit.after", pass: 2, late: true, kind: expiring},
}

// stepFaults are the points, each with a process that is killed there, one that is
// stopped there for longer than its lease, and a reply that is lost there.
func stepFaults() []Fault {
	var all []Fault
	for _, s := range stepPoints {
		for _, action := range []string{"kill", "stop", "lose"} {
			if _, err := faults.Parse(s.point + ":" + action + ":1"); err != nil {
				continue // it has no meaning there
			}
			k := s.kind
			if k == "" {
				k = plain
			}
			all = append(all, Fault{
				Name: s.point + ":" + action, kind: k, point: s.point, queue: s.queue,
				arm:  s.arm(action),
				harm: s.await(action),
			})
		}
	}
	return all
}

func (s stepFault) arm(action string) func(r *round) map[int]string {
	return func(r *round) map[int]string {
		if queues(r.env.mode) && strings.HasPrefix(s.point, "reconcile.") {
			s.with = astray // a queued hold is the reconciler's only when no worker serves its entry
		}
		return s.specs(r.rng, action, len(r.wishes))
	}
}

// specs are the faults of each instance. A reply is lost again and again, because
// that harms no other request.
func (s stepFault) specs(rng *rand.Rand, action string, wishes int) map[int]string {
	const usual = 800 // wishes, for which the passes are meant
	pass := max(1, s.pass*wishes/usual)
	spec := fmt.Sprintf("%s:%s:%d", s.point, action, 1+rng.IntN(pass))
	if action == "lose" {
		spec += fmt.Sprintf("/%d", 1+rng.IntN(1+pass/8))
	}
	if s.with != "" {
		spec += "," + s.with
	}
	if !s.late {
		return map[int]string{rng.IntN(instances): spec}
	}
	all := map[int]string{}
	for n := range instances {
		all[n] = spec
	}
	return all
}

// How long the crowd is waited for, and after it a point, or one that the background
// work comes to.
const (
	waitForCrowd = 8 * time.Second
	waitForPoint = 500 * time.Millisecond
	waitForWork  = 4 * time.Second
)

// await returns when the fault has struck and every instance is well again. Lost replies go
// on for as long as the crowd comes.
func (s stepFault) await(action string) func(ctx context.Context, r *round) (bool, error) {
	limit := waitForPoint
	if s.late {
		limit = waitForWork
	}
	return func(ctx context.Context, r *round) (bool, error) {
		limit := limit
		if s.late && queues(r.env.mode) { // the reconciler leaves a queued hold to its entry for so long
			limit += queueWait
		}
		if action != "lose" && !s.late && r.hitEarly(ctx) {
			return true, nil
		}
		// Some buyers may have no answer for as long as the fault goes on.
		select {
		case <-r.done:
		case <-time.After(waitForCrowd):
		case <-ctx.Done():
		}
		for through := time.Now(); sleep(ctx, 5*time.Millisecond); {
			struck := r.supervisor.incidents.Load() > 0
			if action == "lose" {
				struck = r.anyHit(ctx)
			}
			if (struck || time.Since(through) > limit) && r.supervisor.healthy() {
				return struck, nil
			}
		}
		return false, ctx.Err()
	}
}

// hitEarly waits for a case that is over before the crowd is through.
func (r *round) hitEarly(ctx context.Context) bool {
	for !r.through() && sleep(ctx, 5*time.Millisecond) {
		if r.supervisor.incidents.Load() > 0 && r.supervisor.healthy() {
			return true
		}
	}
	return false
}

// anyHit reports whether the fault's own fault has struck anywhere.
func (r *round) anyHit(ctx context.Context) bool {
	for _, i := range r.env.fleet {
		state, err := i.state(ctx)
		for fault, n := range state.Struck {
			if err == nil && n > 0 && strings.HasPrefix(fault, r.fault.point+":") {
				return true
			}
		}
	}
	return false
}
