package api

import (
	"context"
	"errors"
	"math"
	"net/http"
	"strconv"
	"time"

	"example.com/seckill/internal/lottery"
	"example.com/seckill/internal/order"
)

// abandoned is the status that clients read for order.Void. The row is a record of the database: for a client its
// request was abandoned.
const abandoned order.Status = "abandoned"

// orderJSON is an order as the contract shows it.
type orderJSON struct {
	ID         int64        `json:"id,string"`
	CouponID   int64        `json:"coupon_id,string"`
	UserID     int64        `json:"user_id,string"`
	Status     order.Status `json:"status"`
	PriceCents int64        `json:"price_cents"`
	CreatedAt  time.Time    `json:"created_at"`
	ExpiresAt  time.Time    `json:"expires_at"`
	RequestID  string       `json:"request_id"`

	// Only while the order is queued, as estimates: its place in its queue, from 1. If they are known, also the
	// pace of the queue, in orders per second, and how many seconds are left.
	Position int64   `json:"position,omitempty"`
	Pace     float64 `json:"pace,omitempty"`
	Wait     float64 `json:"wait_seconds,omitempty"`
	// The time of the draw. A ticket has it instead of the three above.
	DrawsAt *time.Time `json:"draws_at,omitempty"`

	again time.Duration // when to ask again
}

func showOrder(o order.Order) orderJSON {
	j := orderJSON{
		ID: o.ID, CouponID: o.CouponID, UserID: o.UserID, Status: o.Status, PriceCents: o.PriceCents,
		CreatedAt: wireTime(o.CreatedAt), ExpiresAt: wireTime(o.ExpiresAt), RequestID: o.RequestID,
	}
	if o.Status == order.Void {
		j.Status = abandoned
	}
	if o.Status == order.Queued {
		j.Position, j.again = o.Position.Ahead+1, o.Position.RetryAfter
		if each := o.Position.Each; each > 0 {
			j.Pace, j.Wait = tenths(1/each.Seconds()), tenths(o.Position.Wait().Seconds())
		}
	}
	return j
}

// showResult is showOrder of the result of a call, which may be the ticket of a draw. To a client the request of a
// ticket is queued.
func (s *Server) showResult(ctx context.Context, o order.Order, err error) (orderJSON, error) {
	j := showOrder(o)
	if err != nil || o.Status != lottery.Entered {
		return j, err
	}
	drawsAt, err := s.deps.Draws.DrawsAt(ctx, o.CouponID)
	if err != nil {
		return orderJSON{}, err
	}
	at := wireTime(drawsAt)
	j.Status, j.DrawsAt, j.again = order.Queued, &at, o.Position.RetryAfter
	return j, nil
}

// tenths rounds up to a tenth, so that a known value is never 0.
func tenths(x float64) float64 { return math.Ceil(x*10) / 10 }

type placeRequest struct {
	order.Request

	tokens []string // Purchase-Token
}

func (r *placeRequest) read(in *input) {
	r.CouponID, r.UserID, r.Key = in.id(), in.who.UserID, in.key()
	r.tokens = in.c.Request.Header["Purchase-Token"]
	in.noBody()
}

// placed is an order that has been made, or may have been.
type placed struct{ orderJSON }

func (p placed) writeHeader(h http.Header) int {
	h["Location"] = []string{"/api/v1/orders/" + strconv.FormatInt(p.ID, 10)}
	if p.Status == order.Queued {
		h["Retry-After"] = p.retryAfter()
		return http.StatusAccepted
	}
	return http.StatusCreated
}

// orderView is an order as the API shows it. An unresolved order also says when the client may ask again.
type orderView struct{ orderJSON }

func (s orderView) writeHeader(h http.Header) int {
	if s.Status == order.Queued || s.Status == order.InDoubt {
		h["Retry-After"] = s.retryAfter()
	}
	return http.StatusOK
}

// retryAfter returns the delay rounded up to whole seconds, so a client that honours it does not
// poll early.
func (o orderJSON) retryAfter() []string {
	return []string{wholeSeconds(o.again)}
}

// wholeSeconds returns a delay for Retry-After: whole seconds, at least one.
func wholeSeconds(d time.Duration) string {
	return strconv.FormatInt(max(1, int64((d+time.Second-1)/time.Second)), 10)
}

// place buys. An order whose outcome is unknown is shown as it will be if it was committed, with an
// error that says no more than that: the cause goes to the log.
func (s *Server) place(ctx context.Context, r placeRequest) (placed, error) {
	if err := s.permit(&r); err != nil {
		return placed{}, err
	}
	o, err := s.deps.Orders.Place(ctx, r.Request)
	s.hub.counts.answer(r.CouponID, o, err)
	err = s.soldOut(r.CouponID, err)
	switch {
	case err == nil:
	case errors.Is(err, order.ErrCommitUnknown) && !errors.Is(err, order.ErrVoided):
		s.o.Log.WarnContext(ctx, "order in doubt", "order", o.ID, "coupon", o.CouponID, "error", err)
		o.Status, err = order.InDoubt, order.ErrCommitUnknown
	default:
		return placed{}, err
	}
	j, err := s.showResult(ctx, o, err)
	return placed{j}, err
}

// orderPath is a request of a user that names an order and has no other parameters.
type orderPath struct{ id, userID int64 }

func (r *orderPath) read(in *input) {
	r.id, r.userID = in.id(), in.who.UserID
	if in.c.Request.Method == http.MethodPost {
		in.noBody()
	}
}

func (s *Server) getOrder(ctx context.Context, r orderPath) (orderView, error) {
	o, err := s.deps.Orders.Get(ctx, r.id, r.userID)
	j, err := s.showResult(ctx, o, err)
	return orderView{j}, err
}

func (s *Server) pay(ctx context.Context, r orderPath) (orderJSON, error) {
	o, err := s.deps.Payments.Pay(ctx, r.id, r.userID)
	return showOrder(o), err
}

func (s *Server) cancel(ctx context.Context, r orderPath) (orderJSON, error) {
	o, err := s.deps.Payments.Cancel(ctx, r.id, r.userID)
	return showOrder(o), err
}

type ordersRequest struct {
	userID int64
	page   page
}

func (r *ordersRequest) read(in *input) { r.userID, r.page = in.who.UserID, in.page() }

type orderList struct {
	Orders     []orderJSON `json:"orders"`
	NextCursor string      `json:"next_cursor"`
}

func (s *Server) listOrders(ctx context.Context, r ordersRequest) (orderList, error) {
	found, err := s.deps.Orders.List(ctx, r.userID, r.page.cursor, r.page.limit+1)
	if err != nil {
		return orderList{}, err
	}
	found, next := more(found, r.page.limit, func(o order.Order) int64 { return o.ID })
	list := orderList{Orders: make([]orderJSON, 0, len(found)), NextCursor: next}
	for _, o := range found {
		list.Orders = append(list.Orders, showOrder(o))
	}
	return list, nil
}
