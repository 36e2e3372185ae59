package bench

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"

	"example.com/seckill/internal/tools/rush"
	"example.com/seckill/internal/tools/servers"
)

// workload describes the buyers of a sale.
type workload struct {
	coupons []string // the taps and lanes are spread over them
	taps    int
	lanes   int     // requests at once
	rate    float64 // taps per second, as an open loop; 0 = as fast as they are answered
	first   int64   // the first user's id
	users   int     // distinct users, who come again and again; 0 = as many as taps
	counts  string  // the refusal that is counted; "" = orders
	keys    bool    // each tap has an Idempotency-Key
	looks   bool    // each tap is a look at the coupon
	profile string  // the file for a CPU profile; "" = none is taken
}

// peakConns is how many buyers are served at once, unless a measurement says otherwise.
const peakConns = 128

// conns is peakConns unless Options.Connections says otherwise, or a test: there the race detector and a busy
// machine would let them wait longer than a request may.
var conns = peakConns

// run runs a workload and returns its figures. The violations are findings of the audit or of the generator's
// own record; an error means that the run failed.
func (s *deployment) run(ctx context.Context, c workload) (f figures, violations []string, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	parts := len(c.coupons) * len(s.fleet)
	b := &barrier{ctx: ctx, cancel: cancel, waiting: parts, running: parts, open: make(chan struct{}), over: make(chan struct{})}
	var before, after counters
	b.first = func() (err error) { before, err = s.watched.look(ctx); return err }
	b.last = func() (err error) { after, err = s.watched.look(ctx); return err }

	reports := make([]rush.Report, parts)
	var all sync.WaitGroup
	if c.profile != "" {
		all.Go(func() { s.profileFrom(ctx, b.open, c.profile, cancel) })
	}
	for i := range parts {
		o := s.options(c, i)
		o.Ready, o.Done = b.ready, b.done
		all.Go(func() {
			var err error
			if reports[i], err = play(ctx, o); err != nil {
				cancel(err)
			}
		})
	}
	all.Wait()
	if err := context.Cause(ctx); err != nil {
		return f, nil, err
	}
	answers := f.add(reports, c.counts)
	for _, r := range reports[:len(c.coupons)] { // the others are not audited
		f[committed] += float64(r.Committed)
	}
	f.each(before, after, answers)
	for _, pid := range s.watched.programs {
		peak, err := servers.PeakMemory(pid)
		if err != nil {
			return f, nil, err
		}
		f[memory] = max(f[memory], float64(peak)/(1<<20))
	}
	for i, r := range reports {
		audited := i < len(c.coupons)
		if s.admin != "" && (audited && !r.Clean() || len(r.Violations) > 0) {
			violations = append(violations, fmt.Sprintf("coupon %s: audit %s: %v %v", c.coupons[i%len(c.coupons)], r.Audit, r.Violations, r.Notes))
		}
	}
	if s.admin != "" && f[committed] < f[accepted] {
		violations = append(violations, fmt.Sprintf("%.0f orders were acknowledged and %.0f are committed", f[accepted], f[committed]))
	}
	return f, violations, nil
}

// play runs one part of a workload. A server that is gone is an error.
func play(ctx context.Context, o rush.Options) (rush.Report, error) {
	report, err := rush.Run(ctx, o)
	if err == nil && report.GaveUp != "" {
		err = errors.New(report.GaveUp)
	}
	return report, err
}

// options returns the options of the workload's i-th part: each instance has one of each coupon.
// The audit comes from the first instance.
func (s *deployment) options(c workload, i int) rush.Options {
	n := len(c.coupons) * len(s.fleet)
	part := c.taps / n
	o := rush.Options{
		URL: s.fleet[i/len(c.coupons)].URL, Coupon: c.coupons[i%len(c.coupons)], Users: part, FirstUser: max(1, c.first) + int64(i*part),
		Concurrency: max(1, c.lanes/n), Rate: c.rate / float64(n), Token: s.token, AdminToken: s.admin, Keys: c.keys,
		Looks: c.looks,
	}
	if c.users > 0 {
		// A tap is a user to the generator; only the token says which one.
		o.Token = func(ctx context.Context, id int64) (string, error) {
			return s.token(ctx, max(1, c.first)+(id-o.FirstUser)%int64(c.users))
		}
	}
	if s.admin == "" {
		o.Verify = -1
	}
	if i >= len(c.coupons) {
		o.AdminToken = ""
	}
	return o
}

// add puts the answers to the parts of a workload into f, and returns how many of them count. The
// parts ran at once, so the longest is the time.
func (f *figures) add(reports []rush.Report, counts string) (answers float64) {
	var seconds, requests, queued, queuedIn float64
	var middle []float64
	for _, r := range reports {
		f[asked] += float64(r.Asked)
		f[accepted] += float64(r.Accepted)
		f[failed] += float64(r.Failed)
		for _, n := range r.Refused {
			f[refused] += float64(n)
		}
		seconds, requests = max(seconds, r.Seconds), requests+r.RequestsPerSecond*r.Seconds
		queued, queuedIn = queued+float64(r.Queued), max(queuedIn, r.QueuedIn)
		half, most := r.P50Millis, r.P99Millis
		if counts == "" {
			answers += float64(r.Accepted)
		} else {
			half, most = r.RefusedP50Millis, r.RefusedP99Millis
			answers += float64(r.Refused[counts])
		}
		middle, f[p99] = append(middle, half), max(f[p99], most)
	}
	f[p50] = median(middle)
	f[requestRate], f[rate], f[queuedRate] = over(requests, seconds), over(answers, seconds), over(queued, queuedIn)
	return answers
}

// barrier lets the parts of a workload begin together, and reads the counters once before the first
// tap and once after the last answer.
//
// No part goes on to the audit before all have their answers: the audit is of the whole sale.
type barrier struct {
	ctx     context.Context //nolint:containedctx // of the workload, in which nothing waits for ever
	mu      sync.Mutex
	waiting int
	running int
	open    chan struct{}
	over    chan struct{}
	first   func() error
	last    func() error
	cancel  context.CancelCauseFunc
}

func (b *barrier) ready(ctx context.Context) error {
	b.mu.Lock()
	b.waiting--
	var err error
	if b.waiting == 0 {
		if err = b.first(); err == nil {
			close(b.open)
		}
	}
	b.mu.Unlock()
	if err != nil {
		return err
	}
	select {
	case <-b.open:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (b *barrier) done() {
	b.mu.Lock()
	if b.running--; b.running == 0 {
		if err := b.last(); err != nil {
			b.cancel(err)
		}
		close(b.over)
	}
	b.mu.Unlock()
	select {
	case <-b.over:
	case <-b.ctx.Done():
	}
}

// errNothing means that a path gave none of the answers that it counts.
var errNothing = errors.New("none of the answers that it is about came")

// anywhere returns a first user id that no earlier workload of the same deployment is likely to have. The ids
// choose the shards, and no path should always have a lucky choice.
func anywhere() int64 { return 1_000_000 + rand.Int64N(1<<40) } //nolint:gosec // not a secret
