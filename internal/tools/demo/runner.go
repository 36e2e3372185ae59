package demo

import (
	"context"
	"strconv"
	"sync"

	"example.com/seckill/internal/api"
	"example.com/seckill/internal/api/auth"
	"example.com/seckill/internal/app"
	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/tools/rush"
)

// Runner implements api.Rush: it runs the load generator against the server that it is
// part of, over real HTTP.
type Runner struct {
	server *app.Server

	mu       sync.Mutex
	stop     context.CancelFunc // of the rush that is under way, or nil
	visitors bool               // it goes on until it is stopped, and gives way to another
	runs     int64
	status   api.RushStatus
	running  sync.WaitGroup
}

// NewRunner returns a Runner that sends buyers to the server.
func NewRunner(s *app.Server) *Runner { return &Runner{server: s} }

// The buyers of each rush are new: their ids begin at a million of their own, far above
// those of visitors.
const (
	firstBuyer = 1_000_000_000
	nextBuyers = 1_000_000
)

// Start starts a rush, or returns api.ErrUnderWay. Visitors give way to it.
func (r *Runner) Start(o api.RushRequest) error { return r.start(o, false) }

// visit lets buyers come, one crowd after the other, until they are stopped.
func (r *Runner) visit(couponID int64, perS int) error { //nolint:unparam // of the coupon on sale
	return r.start(api.RushRequest{CouponID: couponID, Users: manyVisitors, PerS: perS}, true)
}

// manyVisitors are the buyers of one crowd: their tokens are signed before the first comes.
const manyVisitors = 20_000

// start starts a rush. It signs the buyers' tokens with the server's own secret.
func (r *Runner) start(o api.RushRequest, visitors bool) error {
	admin, err := r.server.Token(1, auth.RoleAdmin)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stop != nil && !r.visitors {
		return api.ErrUnderWay
	}
	secure, err := r.server.TLS()
	if err != nil {
		return err
	}
	options := rush.Options{
		TLS: secure,
		URL: r.server.URL, AdminURL: r.server.AdminURL(), Coupon: strconv.FormatInt(o.CouponID, 10), Users: o.Users, Rate: float64(o.PerS),
		FirstUser: firstBuyer + r.runs*nextBuyers, DoubleTapEvery: doubleTapEvery, Keys: true, PayPercent: o.Pay, CancelPercent: o.Cancel,
		Token: r.server.UserToken, AdminToken: admin, Home: coupon.Home, Version: app.Version(),
	}
	if r.stop != nil {
		r.stop()
	}
	ctx, cancel := context.WithCancel(context.Background())
	r.stop, r.visitors = cancel, visitors
	r.runs++
	run := r.runs
	options.OnProgress = func(s rush.Progress) { r.setProgress(run, s) }
	r.status = api.RushStatus{
		Running: true, Visitors: visitors, CouponID: o.CouponID, Taps: o.Users + o.Users/options.DoubleTapEvery,
	}
	r.running.Go(func() {
		report, err := rush.Run(ctx, options)
		for visitors && err == nil && !report.Stopped {
			options.FirstUser += int64(options.Users)
			report, err = rush.Run(ctx, options)
		}
		cancel()
		r.end(run, report, err)
	})
	return nil
}

// setProgress notes how far a run has come, unless another has taken its place.
func (r *Runner) setProgress(run int64, s rush.Progress) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if run != r.runs {
		return
	}
	at := &r.status
	at.Taps, at.Asked, at.Accepted, at.Refused, at.Failed = s.Taps, s.Asked, s.Accepted, s.Refused, s.Failed
}

func (r *Runner) end(run int64, report rush.Report, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if run != r.runs {
		return
	}
	r.stop, r.status.Running = nil, false
	if err != nil {
		r.status.Error = err.Error()
		return
	}
	r.status.Report = report
}

// Stop sends no more buyers; requests in flight end.
func (r *Runner) Stop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stop != nil {
		r.stop()
	}
}

// Status returns how far the rush has come.
func (r *Runner) Status() api.RushStatus {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.status
}

// Close stops the rush and returns when it has ended.
func (r *Runner) Close() error {
	r.Stop()
	r.running.Wait()
	return nil
}
