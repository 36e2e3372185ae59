package rush

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math"
	"net/url"
	"strings"
	"time"
)

// Options are how many buyers come, how fast, and how they behave. The zero value of a
// field is its default; URL, Users (or Taps) and Token are required.
type Options struct {
	URL         string // the server, as http://host:port; a path is kept as prefix
	AdminURL    string // where the audit is, if elsewhere
	Users       int    // how many distinct buyers come, each once
	FirstUser   int64  // the first buyer's user id, the others follow; default 1
	Concurrency int    // how many buyers are served at once; default 128
	Coupon      string // the coupon's id; default "1"

	// Rate is the number of taps offered per second, as an open loop. 0 means
	// as fast as Concurrency allows.
	Rate float64

	DoubleTapEvery int // every n-th buyer taps twice at once, as two requests; 0 = none
	PayPercent     int // percentage of the orders that their owners pay
	CancelPercent  int // percentage of the orders that their owners cancel

	// Keys sends an Idempotency-Key with each tap and retries with the same key, at
	// most Tries times in all, if its answer was lost or allows a retry. Without Keys nothing is ever
	// retried.
	Keys  bool
	Tries int // default 8 with Keys

	// Taps above 0 is another kind of run: FirstUser is the only buyer and taps Taps times at once, each tap a
	// request of its own. Users is then ignored.
	Taps int

	// Looks makes each tap a look at the coupon by a visitor without a token, and no purchase. The
	// report counts them as refused, looked.
	Looks bool

	Timeout time.Duration // of one HTTP request; default 10 s
	// InDoubt is the time in which a 202 must become an order or a refusal; default 30 s. The server promises
	// that while its stores respond.
	InDoubt time.Duration
	TLS     *tls.Config // how an https server is verified; nil is by the system's authorities
	Verify  int         // acknowledged orders to read back; 0 = all, at most 1000; below 0 = none

	// Token returns a buyer's bearer token. It is called before the clock starts,
	// from several goroutines. See Sessions and Signed.
	Token func(ctx context.Context, userID int64) (string, error)

	// AdminToken is for the audit before and after the run. If it is "" and the server lets everyone log in as an
	// administrator, as with embedded stores, the run logs in as one. Otherwise there is no audit, and NoAuditReason
	// says why.
	AdminToken    string
	NoAuditReason string // in words; for the report
	NoAudit       bool   // leave the audit out

	// Home returns a user's home shard. With it and an AdminToken the report has Fairness.ByShard; may be nil.
	Home           func(userID int64, shards int) int
	ProgressOutput io.Writer // where the progress is drawn; nil = nowhere
	Version        string    // of the program, for the report

	// Ready is called once, when all is prepared; the clock starts when it returns, so
	// several runs can begin at the same moment. Its error ends the run. Done is called
	// once after Ready, when the last outcome is known and before anything is read back.
	// Both may be nil.
	Ready func(ctx context.Context) error
	Done  func()

	// Opening is called once before Ready, with the units that can be bought and the limit per user. It may be nil.
	Opening func(units, limit int)

	// OnProgress is called now and then, never twice at once, with how far the run has
	// come. It may be nil.
	OnProgress func(Progress)

	netHTTP  bool     // also for plain http, use net/http and not connections of its own
	timeouts timeouts // shorter in tests
}

// timeouts bound every kind of waiting that is not one request.
type timeouts struct {
	atRest time.Duration // for the audit to be at rest
	audit  time.Duration // for one audit
	grace  time.Duration // for requests in flight after Ctrl-C
	wrapUp time.Duration // for reading back and auditing after Ctrl-C

	silence time.Duration // without an answer, after which the run ends
}

// The server promises to resolve every open order within 30 s. The audit gets a little longer, because it is
// read at intervals.
var defaultTimeouts = timeouts{
	atRest: 35 * time.Second,
	audit:  10 * time.Minute,
	grace:  2 * time.Second,
	wrapUp: 5 * time.Second,

	silence: 5 * time.Second,
}

// withDefaults returns o with its defaults, or an ErrOptions.
func (o Options) withDefaults() (Options, error) {
	o.FirstUser = cmp.Or(o.FirstUser, 1)
	o.Concurrency = cmp.Or(o.Concurrency, 128)
	o.Coupon = cmp.Or(o.Coupon, "1")
	o.Timeout = cmp.Or(o.Timeout, 10*time.Second)
	o.timeouts = cmp.Or(o.timeouts, defaultTimeouts)
	o.InDoubt = cmp.Or(o.InDoubt, 30*time.Second)
	switch {
	case !o.Keys:
		o.Tries = 1
	case o.Tries == 0:
		o.Tries = 8
	}
	if o.Taps > 0 {
		o.Users, o.DoubleTapEvery = 1, 0
	}
	return o, o.check()
}

// ErrOptions is returned for options that make no sense; nothing was sent.
var ErrOptions = errors.New("wrong options")

func (o Options) check() error {
	wrong := func(format string, args ...any) error {
		return fmt.Errorf("%w: %w", ErrOptions, fmt.Errorf(format, args...))
	}
	u, err := url.Parse(o.URL)
	switch {
	case err != nil && strings.Contains(o.URL, "://"):
		return wrong("--url: %w", err)
	case err != nil, u.Scheme != "http" && u.Scheme != "https", u.Host == "":
		return wrong("--url %q needs http:// or https://, as in http://host:port", o.URL)
	case o.Token == nil:
		return wrong("buyers need a way to get a token")
	case strings.Trim(o.Coupon, "0123456789") != "":
		return wrong("--coupon: not a coupon id: %q", o.Coupon)
	case o.FirstUser < 1:
		return wrong("--first-user must be 1 or more, not %d", o.FirstUser)
	case o.Timeout < 0:
		return wrong("--timeout cannot be negative: %v", o.Timeout)
	case o.Rate < 0:
		return wrong("--rate must be 0 or more, not %v", o.Rate)
	}
	for _, flag := range []struct {
		name            string
		n, least, limit int
	}{
		{"--users", o.Users, 1, math.MaxInt},
		{"--concurrency", o.Concurrency, 1, math.MaxInt},
		{"--same-user", o.Taps, 0, math.MaxInt},
		{"--double-tap-every", o.DoubleTapEvery, 0, math.MaxInt},
		{"--pay-percent", o.PayPercent, 0, 100},
		{"--cancel-percent", o.CancelPercent, 0, 100},
		{"tries", o.Tries, 1, math.MaxInt},
	} {
		switch {
		case flag.n >= flag.least && flag.n <= flag.limit:
		case flag.limit == math.MaxInt:
			return wrong("%s must be %d or more, not %d", flag.name, flag.least, flag.n)
		default:
			return wrong("%s must be from %d to %d, not %d", flag.name, flag.least, flag.limit, flag.n)
		}
	}
	if both := o.PayPercent + o.CancelPercent; both > 100 {
		return wrong("--pay-percent and --cancel-percent must be 100 or less together, not %d", both)
	}
	return nil
}

// tapsOf returns how many times the i-th buyer taps at once.
func (o Options) tapsOf(i int) int {
	switch {
	case o.Taps > 0:
		return o.Taps
	case o.DoubleTapEvery > 0 && (i+1)%o.DoubleTapEvery == 0:
		return 2
	}
	return 1
}

// tapsBefore returns how many taps the buyers before the i-th make, which is the i-th
// buyer's position in the schedule of an open loop.
func (o Options) tapsBefore(i int) int {
	if o.DoubleTapEvery > 0 {
		return i + i/o.DoubleTapEvery
	}
	return i
}

// taps returns how many taps the whole run makes.
func (o Options) taps() int {
	if o.Taps > 0 {
		return o.Taps
	}
	return o.tapsBefore(o.Users)
}
