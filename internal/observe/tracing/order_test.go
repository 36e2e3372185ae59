package tracing_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/observe/tracing"
	"example.com/seckill/internal/order"
	"example.com/seckill/internal/store"
	"example.com/seckill/internal/testing/apptest"
	"example.com/seckill/internal/testing/failpoint"
)

func groups(s *apptest.Shop, on func([]*order.Attempt, time.Time, error)) order.Committer {
	return s.DB.Committer(store.CommitOptions{OnTransaction: on})
}

// When the unlock starts, all writes of an order have ended. The data stay right in any order of these steps, so only
// the traces can show it. Calls fail meanwhile, and replies are lost.
func TestTrace_Unlock_StartsAfterCommit(t *testing.T) {
	for _, commit := range apptest.Commits {
		t.Run(string(commit), func(t *testing.T) {
			s, r := apptest.Open(t, commit), record(t, tracing.Options{SampleRatio: 1})
			const crowd, broken = 40, 12
			c := s.Sell(t, 2*crowd, 1)
			service := order.NewService(r.shop(s))
			for _, a := range apptest.Together(crowd, func(i int) (order.Order, error) {
				return r.place(t, service, apptest.Request(c, int64(1+i), ""))
			}) {
				require.NoError(t, a.Err)
			}
			wire := &failpoint.Injector{}
			failing := order.NewService(r.shop(s.Another(t, wire)))
			for n := range broken {
				way := failpoint.Failures[[]string{"never arrived", "the reply is lost"}[n%2]]
				r.requested(t, func(ctx context.Context) {
					_, _ = failing.Place(wire.Arm(ctx, 1+n/2, way), apptest.Request(c, int64(1000+n), "k"))
				})
			}
			traces := r.byTrace()
			requireOrdered(t, traces)
			requireLinked(t, traces)
			whole := 0
			for _, spans := range traces {
				if len(named(spans, "confirm")) == 1 && len(named(spans, "unlock")) == 1 {
					whole++
				}
			}
			require.GreaterOrEqual(t, whole, crowd)
		})
	}
}

// requireOrdered fails if a transaction is not inside of its lock.
func requireOrdered(t *testing.T, traces map[trace.TraceID][]sdk.ReadOnlySpan) {
	t.Helper()
	for _, spans := range traces {
		for _, tx := range named(spans, "transaction") {
			var held sdk.ReadOnlySpan
			for _, l := range named(spans, "lock") {
				if !l.EndTime().After(tx.StartTime()) && (held == nil || l.EndTime().After(held.EndTime())) {
					held = l
				}
			}
			require.NotNil(t, held, "a transaction without a lock: %v", names(spans))
			for _, u := range named(spans, "unlock") {
				if !u.StartTime().Before(held.EndTime()) {
					require.False(t, u.StartTime().Before(tx.EndTime()), "the unlock began before the commit had ended: %v", names(spans))
				}
			}
		}
	}
}

// requireLinked fails if the transaction of a group and those of its orders do not lead to each
// other, or if an order's unlock began before the group had committed.
func requireLinked(t *testing.T, traces map[trace.TraceID][]sdk.ReadOnlySpan) {
	t.Helper()
	groups, linked := map[trace.SpanID]sdk.ReadOnlySpan{}, map[trace.SpanID]trace.SpanID{}
	for _, spans := range traces {
		for _, g := range named(spans, "group transaction") {
			require.Len(t, spans, 1, "it is a trace of its own")
			require.NotEmpty(t, g.Links())
			groups[g.SpanContext().SpanID()] = g
			for _, l := range g.Links() {
				linked[l.SpanContext.SpanID()] = g.SpanContext().SpanID()
			}
		}
	}
	require.NotEmpty(t, groups)
	orders := 0
	for _, spans := range traces {
		for _, tx := range named(spans, "transaction") {
			of, is := linked[tx.SpanContext().SpanID()]
			if !is {
				require.NotEmpty(t, tx.Status().Description, "a transaction without its group")
				continue
			}
			orders++
			require.NotEmpty(t, tx.Links(), "and back")
			require.Equal(t, of, tx.Links()[0].SpanContext.SpanID())
			for _, u := range named(spans, "unlock") {
				require.False(t, u.StartTime().Before(groups[of].EndTime()))
			}
		}
	}
	require.Positive(t, orders)
}

func TestTrace_Order_HasItsStepsInOrder(t *testing.T) {
	for _, commit := range apptest.Commits {
		t.Run(string(commit), func(t *testing.T) {
			s, r := apptest.Open(t, commit), record(t, tracing.Options{SampleRatio: 1})
			c := s.Sell(t, 4, 1)
			service := order.NewService(r.shop(s))
			o, err := r.place(t, service, apptest.Request(c, 7, ""))
			require.NoError(t, err)
			for _, spans := range r.byTrace() {
				if len(named(spans, "place")) == 0 {
					continue
				}
				require.Equal(t, []string{
					"POST /api/v1/coupons/:id/orders", "place", "admission", "reserve", "lock", "transaction", "unlock", "confirm",
				}, names(spans))
				place := named(spans, "place")[0]
				for _, s := range spans[:len(spans)-2] {
					require.Equal(t, place.SpanContext().SpanID(), s.Parent().SpanID(), s.Name())
				}
				require.Contains(t, place.Attributes(), attributeOf("seckill.order.id", o.ID))
			}
			_, err = r.place(t, service, apptest.Request(c, 7, ""))
			require.ErrorIs(t, err, order.ErrLimitReached)
			s.RequireConsistent(t, c, 1)
		})
	}
}

// The worker's spans are in the trace of the request, which another instance may have answered.
func TestTrace_QueuedOrder_IsOneTrace(t *testing.T) {
	s, r := apptest.Open(t), record(t, tracing.Options{SampleRatio: 1})
	c := s.Sell(t, 4, 1)
	d := r.shop(s)
	d.Admission, d.Queue, d.QueueCapacity, d.QueueMaxAge = nil, s.Stock.Queue("one", apptest.Patient), 100, apptest.Patient
	queued, err := r.place(t, order.NewService(d), apptest.Request(c, 7, "k"))
	require.NoError(t, err)
	require.Equal(t, order.Queued, queued.Status)

	other := record(t, tracing.Options{}) // it traces what was asked for
	d = other.shop(s)
	d.Queue = s.Stock.Queue("other", apptest.Patient)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		order.NewService(d).RunWorkers(ctx, order.WorkerConfig{
			Loaded: func(context.Context) ([]coupon.Coupon, error) { return []coupon.Coupon{c}, nil },
			MaxAge: apptest.Patient, AttemptTimeout: apptest.Patient, Concurrency: 4, Begin: other.Entry,
		})
	}()
	require.Eventually(t, func() bool { return len(named(other.spans.Ended(), "process")) > 0 }, apptest.Patient, 10*time.Millisecond)
	stop()
	<-ended

	asked, worked := r.byTrace(), other.byTrace()
	process := named(other.spans.Ended(), "process")[0]
	id := process.SpanContext().TraceID()
	require.Equal(t, []string{"POST /api/v1/coupons/:id/orders", "place", "reserve"}, names(asked[id]))
	require.Equal(t, []string{"process", "lock", "transaction", "unlock", "confirm"}, names(worked[id]))
	require.Equal(t, named(asked[id], "place")[0].SpanContext().SpanID(), process.Parent().SpanID())
	requireOrdered(t, worked)
	o, err := s.Service.Get(t.Context(), queued.ID, 7)
	require.NoError(t, err)
	require.Equal(t, order.Pending, o.Status)
	s.RequireConsistent(t, c, 1)
}

// A lock that is left to its lease is not unlocked, and no trace says so.
func TestTrace_LockLeftToExpire_HasNoUnlock(t *testing.T) {
	for _, commit := range apptest.Commits {
		t.Run(string(commit), func(t *testing.T) {
			s, r := apptest.Open(t, commit), record(t, tracing.Options{SampleRatio: 1})
			c := s.Sell(t, 4, 1)
			d := r.shop(s)
			d.Committer = lostCommits{groups(s, r.OnTransaction())}
			d.DB = silent{d.DB}
			_, err := r.place(t, order.NewService(d), apptest.Request(c, 7, "k"))
			require.ErrorIs(t, err, order.ErrCommitUnknown)
			require.Len(t, named(r.spans.Ended(), "lock"), 1)
			require.Empty(t, named(r.spans.Ended(), "unlock"))
		})
	}
}

// lostCommits commits, and its replies are lost.
type lostCommits struct{ order.Committer }

func (l lostCommits) Place(ctx context.Context, all []*order.Attempt) {
	l.Committer.Place(ctx, all)
	for _, a := range all {
		a.Err = order.ErrCommitUnknown
	}
}

// silent is a database that does not return the outcome of an order.
type silent struct{ order.Database }

func (silent) Void(context.Context, order.Order) error { return order.ErrUnavailable }
