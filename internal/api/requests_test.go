package api

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/api/auth"
	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/order"
)

// readEvent polls the sale of coupon 1 once.
func readEvent(t *testing.T, s *Server) (e saleEvent) {
	t.Helper()
	event, _ := s.hub.poll(t.Context(), 1, &rateMeter{})
	_, data, _ := strings.Cut(string(event), "data: ")
	require.NoError(t, json.Unmarshal([]byte(data), &e), string(event))
	require.Equal(t, e.Units, e.Left+e.BeingWritten+e.Orders+e.Returning, "the figures of one event are a sum")
	return e
}

func TestRequestCounts_AnsweredPurchases_AreCounted(t *testing.T) {
	sh := newShop()
	s := sh.serve(t, Options{})
	buy := func(couponID string, err error) {
		t.Helper()
		sh.say = func(context.Context) error { return err }
		do(t, s, ask{method: http.MethodPost, path: "/api/v1/coupons/" + couponID + "/orders", token: sign(t, s, 42, auth.RoleUser)})
	}
	buy("1", nil)
	buy("1", order.ErrLimitReached)
	buy("1", order.ErrOverloaded) // and is sent again
	buy("99", coupon.ErrNotFound)

	sh.say = nil
	e := readEvent(t, s)
	require.EqualValues(t, 2, e.Requests)
	require.Zero(t, e.TooLate)
	_, known := s.hub.counts.by.Load(int64(99))
	require.False(t, known, "an id that was made up takes no memory")
}

func TestRequestCounts_SoldOut_FreezesRequestsAndTime(t *testing.T) {
	begins := time.Unix(1e9, 0)
	now := begins
	counts := requestCounts{now: func() time.Time { return now }}
	at := func(ms int) order.Order {
		return order.Order{Status: order.Pending, CreatedAt: begins.Add(time.Duration(ms) * time.Millisecond)}
	}
	counts.answer(1, at(900), nil)
	counts.answer(1, order.Order{}, order.ErrLimitReached)
	now = begins.Add(930 * time.Millisecond)
	counts.answer(1, order.Order{}, coupon.ErrSoldOut)
	counts.answer(1, at(920), nil) // it has the last unit, and its commit took longer
	counts.answer(1, order.Order{}, coupon.ErrSoldOut)
	want := &soldOutFigures{After: 920, Requests: 3}
	require.Equal(t, want, counts.soldOut(1, begins, 2, 0))
	now = begins.Add(5 * time.Second)
	counts.answer(1, at(5000), nil) // a unit came back
	require.Equal(t, want, counts.soldOut(1, begins, 3, 1), "it is told of the first time")
	answered, tooLate := counts.of(1)
	require.Equal(t, []int64{6, 2}, []int64{answered, tooLate})

	counts.answer(2, at(10), nil)
	require.Equal(t, &soldOutFigures{After: 10, Requests: 3}, counts.soldOut(2, begins, 3, 0), "two orders are not answered")
	require.Nil(t, counts.soldOut(3, begins, 1, 0))

	counts.answer(4, at(10), nil)
	counts.answer(4, order.Order{}, coupon.ErrSoldOut)
	counts.answer(4, at(6000), nil) // a unit came back before all were orders
	require.Equal(t, &soldOutFigures{After: 6000, Requests: 3, SoldAgain: 1}, counts.soldOut(4, begins, 2, 1))

	counts.answer(5, order.Order{}, coupon.ErrSoldOut) // the only unit is another buyer's, who does not get it
	require.Nil(t, counts.soldOut(5, begins, 1, 0))
	counts.answer(5, at(9000), nil)
	require.EqualValues(t, 9000, counts.soldOut(5, begins, 1, 0).After)
}

// The ledger and the shards are not read at one moment: whatever happens between them, the figures are a sum.
func TestSaleEvent_ReadingsOfTwoMoments_AddUp(t *testing.T) {
	for name, c := range map[string]struct {
		ledger   Ledger
		inShards int64
		want     balance
	}{
		"nothing is on its way":            {Ledger{100, 94, 0}, 94, balance{100, 94, 0, 6, 0}},
		"units are being written":          {Ledger{100, 94, 0}, 80, balance{100, 80, 14, 6, 0}},
		"units return":                     {Ledger{100, 94, 3}, 80, balance{100, 80, 11, 6, 3}},
		"a unit came back in between":      {Ledger{100, 94, 0}, 95, balance{100, 94, 0, 6, 0}},
		"a return arrived that is owed":    {Ledger{100, 94, 2}, 94, balance{100, 94, 0, 6, 0}},
		"the last units are being written": {Ledger{500, 21, 0}, 0, balance{500, 0, 21, 479, 0}},
		"sold out":                         {Ledger{500, 0, 0}, 0, balance{500, 0, 0, 500, 0}},
	} {
		got := balanced(c.ledger, c.inShards)
		require.Equal(t, c.want, got, name)
		require.Equal(t, got.units, got.left+got.beingWritten+got.orders+got.returning, name)
	}
}

func TestSaleEvent_SoldOut_SaysWhenAndWhatWasSoldAgain(t *testing.T) {
	sh := newShop()
	s := sh.serve(t, Options{})
	s.deps.Traces = diary{}
	s.hub.traces = diary{}
	c := sh.coupons[1]
	s.hub.counts.answer(1, order.Order{Status: order.Pending, CreatedAt: c.BeginsAt.Add(920 * time.Millisecond)}, nil)
	sh.left, sh.cameBack = []int64{0, 0, 0, 0}, 6
	c.Left = 2
	sh.coupons[1] = c
	e := readEvent(t, s)
	require.EqualValues(t, 2, e.BeingWritten)
	require.Nil(t, e.SoldOut, "two orders are being written")
	require.Len(t, e.LatestOrder, 2)
	c.Left = 0
	sh.coupons[1] = c
	e = readEvent(t, s)
	require.Equal(t, &soldOutFigures{After: 920, Requests: 106, SoldAgain: 6}, e.SoldOut)
	require.EqualValues(t, 100, e.Orders)
}

func TestHub_UnitCameBackBetweenReadings_ReadsAgain(t *testing.T) {
	sh := newShop()
	s := sh.serve(t, Options{})
	readEvent(t, s)
	require.Equal(t, 1, sh.reads, "ledger and shards agree")
	sh.left[0]++
	e := readEvent(t, s)
	require.Equal(t, 1+maxReads, sh.reads)
	require.EqualValues(t, 94, e.Left, "a unit that the ledger does not have is not left")
}
