package rush

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

// run is one run, from its options to its report.
type run struct {
	Options
	*tally

	name      string // random, so that no key is of two runs
	root      string // scheme and host
	prefix    string // path before /api
	client    *http.Client
	transport transport
	tokens    []string // of the i-th buyer
	permits   bool     // buying needs a purchase token

	sale   sale // the coupon as it was shown before the run
	stock  int  // units that may be sold in all
	shards int  // of the coupon; 0: not known
	before auditReport
	start  time.Time

	noAudit string // why there is no audit, "" if there is one

	behind  sync.WaitGroup // taps that no worker waits for: a 202 that is polled, a second tap that is told to wait
	polls   chan struct{}  // one place for each of their requests that may be under way
	silence silence
	abandon context.CancelCauseFunc // ends the run
}

// tap is one purchase of one unit that one buyer attempts.
type tap struct {
	buyer int           // from 0
	nth   int           // of this buyer's taps, from 0
	due   time.Time     // from when its latency counts
	told  time.Duration // how long it has waited because the server said so
	path  string        // "" is atOnce

	together *together // the buyer's taps at once; nil: it is the only one
	late     bool      // the worker has gone on without it
	lost     bool      // the server has lost its request once
}

// Run sends all buyers and returns the report.
//
// An error means that there was no run: options that make no sense, no server,
// no such coupon, no token. A fault of the server is never an error, it is in the report. When ctx ends, the
// requests in flight get two seconds, and no more are sent. Run returns the report of the part that was done,
// with Stopped set. If the server answers no request for five seconds, the run ends in the same way, and
// GaveUp says why.
func Run(ctx context.Context, o Options) (Report, error) {
	o, err := o.withDefaults()
	if err != nil {
		return Report{}, err
	}
	r := newRun(o)
	defer r.close()
	ctx, r.abandon = context.WithCancelCause(ctx)
	defer r.abandon(nil)
	if err := r.prepare(ctx); err != nil {
		if ctx.Err() != nil {
			return Report{Parameters: r.parameters(), Audit: AuditNotRun, AuditReason: "the run was stopped before it began", Stopped: true}, nil
		}
		return Report{}, err
	}
	if r.Opening != nil {
		r.Opening(r.sale.Left, r.sale.Limit)
	}
	if r.Ready != nil {
		if err := r.Ready(ctx); err != nil {
			return Report{}, err
		}
	}
	r.silence.began, r.silence.limit = time.Now(), r.timeouts.silence
	r.sell(ctx)
	if r.Done != nil {
		r.Done()
	}
	return r.wrapUp(ctx), nil
}

func newRun(o Options) *run {
	u, _ := url.Parse(o.URL) // the options are checked
	r := &run{
		Options: o,
		tally:   newTally(),
		name:    "rush-" + rand.Text()[:12],
		root:    u.Scheme + "://" + u.Host,
		prefix:  strings.TrimRight(u.EscapedPath(), "/"),
		client:  &http.Client{Timeout: o.Timeout, Transport: newHTTPTransport(2, o.Timeout, o.TLS)},
		polls:   make(chan struct{}, max(4, o.Concurrency)),
	}
	if u.Scheme == "https" || o.netHTTP {
		r.transport = newNetHTTP(r.root, 2*max(o.Concurrency, o.Taps)+cap(r.polls), o.Timeout, o.TLS)
	} else {
		r.transport = newRawConns(u.Host, o.Timeout)
	}
	return r
}

func (r *run) close() {
	r.transport.cut()
	r.client.CloseIdleConnections()
}

// prepare does everything that is not to be measured.
func (r *run) prepare(ctx context.Context) error {
	if err := r.get(ctx, "/api/v1/coupons/"+r.Coupon, "", &r.sale); err != nil {
		if op, is := errors.AsType[*net.OpError](err); is && op.Op == "dial" {
			return fmt.Errorf("no server answers at %s: is it running? Start it with seckill serve, or name it with --url: %w", r.URL, op.Err)
		}
		return fmt.Errorf("read coupon %s of %s: %w", r.Coupon, r.URL, err)
	}
	r.stock = r.sale.Stock
	var features struct {
		PurchaseToken bool `json:"purchase_token"`
		DemoAdmin     bool `json:"demo_admin"`
	}
	_ = r.get(ctx, "/api/v1/features", "", &features) // a server without them has none
	r.permits = features.PurchaseToken
	if err := r.prepareAudit(ctx, features.DemoAdmin); err != nil {
		return err
	}
	if err := r.fetchTokens(ctx); err != nil {
		return err
	}
	// Room for every tap that can be refused: to make it under the clock costs more than all the rest of counting one.
	r.arrived.missed = make([]missed, 0, max(0, r.taps()-max(0, r.stock)))
	conns := max(min(r.Concurrency, r.Users), r.Taps)
	if err := r.transport.warm(ctx, conns); err != nil {
		return fmt.Errorf("open %d connections to %s: %w", conns, r.URL, err)
	}
	return nil
}

// prepareAudit reads the audit before the run, unless there is none. mayLogin reports whether the server lets
// everyone log in as an administrator.
func (r *run) prepareAudit(ctx context.Context, mayLogin bool) error {
	switch {
	case r.NoAudit:
		r.AdminToken, r.noAudit = "", "it was left out on request"
	case r.AdminToken == "" && mayLogin:
		token, _, err := login(ctx, r.client, r.root+r.prefix+sessionsPath, adminLogin)
		if err != nil {
			return fmt.Errorf("log in as administrator: %w", err)
		}
		r.AdminToken = token
	case r.AdminToken == "":
		r.noAudit = cmp.Or(r.NoAuditReason, "there is no administrator's token")
	}
	if r.AdminToken != "" {
		in, err := r.fetchAudit(ctx)
		if err != nil {
			if no, is := errors.AsType[*refusal](err); is && no.status == http.StatusUnauthorized {
				err = fmt.Errorf("%w: %s", err, wrongSecret)
			}
			return fmt.Errorf("read the audit before the run: %w", err)
		}
		r.before, r.stock = in, in.Total
		r.sale.Left = max(0, in.Stock) // an instance refreshes the page's count only now and then
		if r.Home != nil {
			r.shards = len(in.Shards)
		}
	}
	return nil
}

// sell sends all buyers under the clock.
func (r *run) sell(ctx context.Context) {
	work, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer cut()
	var late *time.Timer
	armed := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(armed)
		late = time.AfterFunc(r.timeouts.grace, func() {
			cut()
			r.transport.cut()
		})
	})
	stopBar, stopReports := r.showProgress(), r.reportProgress()
	r.sendAll(ctx, work)
	stopBar()
	stopReports()
	if !stop() {
		<-armed
		late.Stop()
	}
}

// wrapUp checks the run: its own record, the orders read back, the audit. After Ctrl-C it
// has a few seconds for that.
func (r *run) wrapUp(ctx context.Context) Report {
	seconds := r.seconds()
	stopped := ctx.Err() != nil
	if stopped && !errors.Is(context.Cause(ctx), errSilent) {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), r.timeouts.wrapUp)
		defer cancel()
	}
	began := r.stock
	r.followRaise(ctx)
	f := r.checkRecord(time.Now())
	rep := r.report(f, seconds)
	if r.stock > began {
		rep.note("the stock was raised from %d to %d during the run", began, r.stock)
	}
	rep.Stopped = stopped
	if n := r.unconfirmed(); n > 0 {
		rep.note("%d payments or cancellations were not confirmed", n)
	}
	rep.ReadBack = r.readBack(ctx)
	rep.Lost = r.lost
	r.audit(ctx, &rep, f)
	rep.OrdersPerSecond = rep.rate() // the audit may have found that no unit is left
	if rep.Refused[codeUnauthenticated] > 0 {
		rep.note("the server rejected tokens of buyers: %s", wrongSecret)
	}
	if cause := context.Cause(ctx); errors.Is(cause, errSilent) {
		rep.GaveUp, rep.Stopped = cause.Error(), true
	}
	rep.Violations = r.wrong.all()
	if len(rep.Violations) > 0 {
		rep.Audit = AuditViolated
	}
	return rep
}

// audit adds the server's own audit to the report.
func (r *run) audit(ctx context.Context, rep *Report, f findings) {
	switch {
	case r.AdminToken == "":
		rep.AuditReason = r.noAudit
		return
	case errors.Is(context.Cause(ctx), errSilent):
		rep.AuditReason = errSilent.Error()
		return
	}
	in, err := r.fetchAuditAtRest(ctx)
	switch {
	case err != nil:
		rep.AuditReason = fmt.Sprintf("the audit could not be read: %v", err)
		return
	case ctx.Err() != nil && !in.atRest():
		rep.AuditReason = "the run was stopped before the sale was at rest"
		return
	}
	rep.Audit = AuditClean
	rep.Committed = in.Orders - r.before.Orders
	rep.Stores = &Stores{Sold: in.Total - in.Stock, LeftInDatabase: in.Stock, LeftInRedis: in.Redis}
	rep.ByOthers = max(0, rep.Committed-f.distinct)
	rep.SoldAgain = soldAgain(r.before, in)
	rep.SoldOut = rep.SoldOut || rep.Accepted > 0 && in.Stock == 0
	rep.Lost = max(rep.Lost, f.distinct-rep.Committed)
	rep.Oversold = max(f.oversold, in.Oversold)
	rep.Duplicates = max(f.duplicates, in.Duplicates)
	r.checkAudit(in, rep.Committed, f.distinct)
	if in.Stock > 0 && rep.Refused[codeSoldOut]+rep.Refused[codeNotDrawn] > 0 {
		rep.note("%d units are left, although buyers were told that it is sold out", in.Stock)
	}
}

// seconds returns the time from the first tap to the last outcome.
func (r *run) seconds() float64 {
	if r.last.IsZero() {
		return 0
	}
	return r.last.Sub(r.start).Seconds()
}
