package audit_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/audit"
	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/lottery"
	"example.com/seckill/internal/order"
	"example.com/seckill/internal/stock"
	"example.com/seckill/internal/store"
)

// busy is a sale that changes between any two readings, and comes to rest after some.
type busy struct {
	looks, restsAfter int64
	takes             time.Duration // to read a snapshot
	settle, relay     error
	foreign           error
	reloaded          int
}

func (*busy) Coupon(context.Context, int64) (coupon.Coupon, error) {
	return coupon.Coupon{
		ID: 1, Total: 5, Left: 5, State: coupon.OnSale, Epoch: 1, Shards: 1, EndsAt: time.Now().Add(time.Hour),
	}, nil
}

func (b *busy) ReadSnapshot(ctx context.Context, id int64, read func(context.Context, store.Snapshot) error) error {
	time.Sleep(b.takes)
	c, err := b.Coupon(ctx, id)
	return errors.Join(err, read(ctx, empty{c}), ctx.Err())
}

// empty is the snapshot of a coupon without orders.
type empty struct{ of coupon.Coupon }

func (e empty) Coupon() coupon.Coupon { return e.of }

func (empty) Orders(context.Context, func(context.Context, []store.SnapshotOrder) error) (store.Totals, error) {
	return store.Totals{}, nil
}

func (empty) Stock(context.Context) ([]int64, error) { return nil, nil }

func (empty) Outbox(context.Context, func(context.Context, []order.Restock) error) error { return nil }

func (empty) Draw(context.Context, func([]lottery.Entrant)) (lottery.Draw, bool, error) {
	return lottery.Draw{}, false, nil
}

func (empty) OrdersByRequest(context.Context, []string) (map[string]order.Order, error) {
	return map[string]order.Order{}, nil
}

func (b *busy) ReadShards(context.Context, int64, int) ([]stock.Shard, error) {
	b.looks++
	return []stock.Shard{{Open: true, Epoch: 1, Units: 5, Ops: min(b.looks, b.restsAfter)}}, nil
}

func (*busy) OpenHolds(context.Context, int64, int, int) iter.Seq2[stock.Held, error] {
	return func(func(stock.Held, error) bool) {}
}

func (*busy) Traces(context.Context, int64, []stock.Shard, []order.Order) ([]stock.Trace, error) {
	return nil, nil
}

func (*busy) Applied(context.Context, []order.Restock) ([]bool, error) { return nil, nil }

func (*busy) QueuedOrders(context.Context, int64, int) (map[int64]bool, error) { return nil, nil }

func (b *busy) Reconcile(context.Context, coupon.Coupon, time.Duration) (int, error) {
	return 0, b.settle
}

func (b *busy) Relay(context.Context) (int, error) { return 0, b.relay }

func (b *busy) Heartbeat(context.Context) error { return b.foreign }

func (b *busy) Reload(context.Context, int64) (coupon.Coupon, error) {
	b.reloaded++
	return coupon.Coupon{}, nil
}

// The sale may be in order, so loading it again would only close it for a moment.
func TestAudit_SaleNeverQuiet_IsUnsettledAndNotReloaded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &busy{restsAfter: 1 << 40}
		r, err := audit.New(b, b, b, b, 0).Repair(t.Context(), 1)
		require.NoError(t, err)
		require.True(t, r.Clean)
		require.False(t, r.Settled)
		require.Equal(t, []string{"I4", "I6", "I7", "I11"}, with(r, audit.Unsettled))
		require.Zero(t, b.reloaded)
	})
}

func TestAudit_BusySale_WaitsForQuiet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &busy{restsAfter: 10}
		r, err := audit.New(b, b, b, b, 0).Audit(t.Context(), 1)
		require.NoError(t, err)
		require.True(t, r.Clean && r.Settled)
	})
}

func TestAudit_ContextEnds_Stops(t *testing.T) {
	b := &busy{restsAfter: 1 << 40}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := audit.New(b, b, b, b, 0).Audit(ctx, 1)
	require.ErrorIs(t, err, context.Canceled)
}

// A caller has so much time. A large sale that never rests takes seconds a reading, and a report
// that it is unsettled is worth more than none.
func TestAudit_TimeRunsOut_AnswersBefore(t *testing.T) {
	for name, tc := range map[string]struct{ takes, time, most time.Duration }{
		"quick looks, little time": {0, 300 * time.Millisecond, 300 * time.Millisecond},
		"slow looks, some time":    {time.Second, 3500 * time.Millisecond, 3500 * time.Millisecond},
		"slow looks, much time":    {time.Second, time.Hour, 5 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b, began := &busy{restsAfter: 1 << 40, takes: tc.takes}, time.Now()
				ctx, cancel := context.WithTimeout(t.Context(), tc.time)
				defer cancel()
				r, err := audit.New(b, b, b, b, 0).Audit(ctx, 1)
				require.NoError(t, err)
				require.False(t, r.Settled)
				require.LessOrEqual(t, time.Since(began), tc.most)
				require.Greater(t, b.looks, int64(2), "it hopes for as long as it may")
			})
		})
	}
}

func TestRepair_CannotReconcile_ReportsError(t *testing.T) {
	away := errors.New("away")
	for name, b := range map[string]*busy{
		"settling": {settle: away, relay: coupon.ErrNotLoaded}, "relaying": {settle: coupon.ErrNotLoaded, relay: away},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := audit.New(b, b, b, b, 0).Repair(t.Context(), 1)
			require.ErrorIs(t, err, away)
		})
	}
}

func TestReport_TextAndJSON_SayTheSame(t *testing.T) {
	b := &busy{}
	r, err := audit.New(b, b, b, b, 0).Audit(t.Context(), 1)
	require.NoError(t, err)
	var text bytes.Buffer
	require.NoError(t, r.WriteText(&text))
	require.Contains(t, text.String(), "T 5 on sale")
	require.Contains(t, text.String(), "audit: clean\n")
	for _, id := range all {
		require.Contains(t, text.String(), fmt.Sprintf("  %-3s  ok", id))
	}
	encoded, err := json.Marshal(r)
	require.NoError(t, err)
	var fields map[string]any
	require.NoError(t, json.Unmarshal(encoded, &fields))
	require.Equal(t, "1", fields["coupon_id"], "ids are strings")
	require.Equal(t, []any{}, fields["violations"], "a list, also when it is empty")

	for want, altered := range map[string]audit.Report{
		"audit: violated (2)\n": {Violations: []string{"a", "b"}},
		"audit: clean so far":   {Clean: true},
	} {
		text.Reset()
		require.NoError(t, altered.WriteText(&text))
		require.Contains(t, text.String(), want)
	}
}

// The holds in Redis are those of orders that a copy of the database does not have.
func TestRepair_ForeignDatabase_ChangesNothing(t *testing.T) {
	b := &busy{foreign: coupon.ErrOtherDeployment, settle: errors.New("it settles")}
	_, err := audit.New(b, b, b, b, 0).Repair(t.Context(), 1)
	require.ErrorIs(t, err, coupon.ErrOtherDeployment)
	require.Zero(t, b.looks)
}
