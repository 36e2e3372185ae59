// Package scale plays a sale of many buyers end to end, on real servers and with the
// program as it is shipped, and measures the cost of each phase:
//
//	calm ─▶ sale ─▶ audit ─▶ migration ─▶ publication ─▶ restore ─▶ settling ─▶ expiry ─▶ end ─▶ archive ─▶ draw ─▶ reference
//	  └──────────────────── another coupon sells on, and tells how long its orders take ────────────────┘
//
// The draw is one of another coupon, with a ticket for every buyer, by a second instance of the program.
//
// It is played for half of the buyers, for all of them, and for half of them again, each time on fresh stores.
// A machine that is shared is quicker in one minute than in another, so the whole is compared with the mean of
// both halves. The bounds are in judge.go: one call of Redis, the growth of a phase, the program's memory, and
// every audit.
//
// After these phases a fleet of four instances sells many small coupons, and restores, reconciles, queues and audits
// them (many.go).
//
// SQL fills in the orders that no buyer makes, and the table says so. A phase can be played by itself: then
// SQL fills in the sale before it. Nothing is left behind, however a run ends: the kernel ends the servers,
// and the next run removes a folder that was left.
//
// It does not promise times: the generator and the servers share one machine.
package scale

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"example.com/seckill/internal/testing/schedlatency"
	"example.com/seckill/internal/tools/servers"
)

// Options are how large a run is, and what of it is played.
type Options struct {
	Buyers int64 // of the larger of the two sales
	// Coupons is how many small coupons the larger of the two sales has in addition. With 0 their phases are left out.
	Coupons int
	Phases  []string // by name; none: all
	Limits  Limits
	// Busy says that the machine does other work. Growth is then judged by processor time in every phase, and
	// calls of Redis by the median of the slowest command.
	Busy bool
	// Once leaves out the second half: then a phase is as much dearer as the machine has become slower
	// since the first.
	Once bool

	Root    string        // the module, to build the program from
	Program string        // or the program, built,
	Latency string        // and that of package schedlatency, built
	Tick    time.Duration // order.background_interval; 0 is a second
	Calm    time.Duration // how long the other coupon sells alone; 0 is five seconds
	Servers Starter       // nil starts a MariaDB and a Redis for each sale
	Log     io.Writer     // gets a line for each phase that is done; may be nil
	// OnRow is called with the report as it is after each phase; may be nil.
	OnRow func(*Report) error
}

// ErrOptions says that the options make no sense.
var ErrOptions = errors.New("wrong options")

func (o Options) withDefaults() (Options, error) {
	if o.Buyers < 200 || o.Buyers > 20_000_000 {
		return o, fmt.Errorf("%w: buyers must be from 200 to 20000000", ErrOptions)
	}
	for _, name := range o.Phases {
		if name != manyGroup && !slices.Contains(Names(), name) {
			return o, fmt.Errorf("%w: there is no phase %q among %s", ErrOptions, name, strings.Join(Names(), ", "))
		}
	}
	if o.Coupons < 0 || o.Coupons > 10_000 {
		return o, fmt.Errorf("%w: coupons must be from 0 to 10000", ErrOptions)
	}
	o.Tick = cmp.Or(o.Tick, time.Second)
	o.Calm = cmp.Or(o.Calm, 5*time.Second)
	if o.Log == nil {
		o.Log = io.Discard
	}
	o.Limits = o.Limits.withDefaults()
	return o, nil
}

func (o Options) wants(p phase) bool {
	if p.many && o.Coupons == 0 {
		return false
	}
	return len(o.Phases) == 0 || slices.Contains(o.Phases, p.name) || p.many && slices.Contains(o.Phases, manyGroup)
}

// Run plays the sales. After an error the report has the measurements until then.
func Run(ctx context.Context, o Options) (*Report, error) {
	if err := servers.NeedLinux("the large sale, which reads the cost of a process from /proc"); err != nil {
		return nil, err
	}
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	r := &Report{Began: time.Now(), Load: loadAverage(), Limits: o.Limits, Busy: o.Busy}
	h, err := openWorkspace(ctx, o)
	if err != nil {
		return r, err
	}
	var unknown error
	if h.latency, unknown = schedlatency.Start(ctx, h.Latency); unknown != nil {
		r.NoSchedLatency = unknown.Error()
	}
	defer h.latency.Close()
	sales := []int64{o.Buyers / 2, o.Buyers, o.Buyers / 2}
	if o.Once {
		sales = sales[:2]
	}
	for i, buyers := range sales {
		r.Sales = append(r.Sales, Sale{Buyers: buyers})
		if err = playSale(ctx, h, o, r, i); err != nil {
			err = fmt.Errorf("%d buyers: %w", buyers, err)
			break
		}
	}
	r.LoadAfter, r.Undisturbed = loadAverage(), h.undisturbed
	return r, errors.Join(err, h.close())
}

// phaseTimeout bounds a phase that does not come to its end.
const phaseTimeout = time.Hour

// playSale plays the phases of the i-th sale of the report.
func playSale(ctx context.Context, h *workspace, o Options, r *Report, i int) (err error) {
	s, err := h.open(ctx, r.Sales[i].Buyers)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	for _, p := range phases {
		if !o.wants(p) {
			continue
		}
		within, cancel := context.WithTimeout(ctx, phaseTimeout)
		row, err := s.take(within, p)
		cancel()
		if err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		r.Sales[i].Rows = append(r.Sales[i].Rows, row)
		_, _ = fmt.Fprintf(o.Log, "%s  %d buyers: %s\n", time.Now().UTC().Format("15:04:05"), s.buyers, row)
		if o.OnRow != nil {
			if err := o.OnRow(r); err != nil {
				return err
			}
		}
	}
	return nil
}

// take measures one phase, and then has the sale audited if the phase changes it.
func (s *sale) take(ctx context.Context, p phase) (row Row, err error) {
	row.Phase = p.name
	if row.Filled, err = s.sellBefore(ctx, p); err != nil {
		return row, fmt.Errorf("the sale before it: %w", err)
	}
	if p.prepare != nil {
		filled, err := p.prepare(s, ctx)
		if err != nil {
			return row, fmt.Errorf("prepare: %w", err)
		}
		row.Filled = strings.Join(slices.DeleteFunc([]string{row.Filled, filled}, func(s string) bool { return s == "" }), "; ")
	}
	w, err := s.watch(ctx)
	if err != nil {
		return row, err
	}
	err = p.play(s, ctx, &row)
	if err = errors.Join(err, w.stop(ctx, &row)); err != nil {
		return row, err
	}
	if p.audited {
		var audit Row
		err := s.audit(ctx, &audit)
		row.Violated = append(row.Violated, audit.Violated...)
		return row, err
	}
	return row, nil
}
