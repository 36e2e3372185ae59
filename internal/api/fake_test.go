package api

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/api/auth"
	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/order"
)

// shop is the domain, in memory. A test sets say before a request to have it return something else.
type shop struct {
	mu      sync.Mutex
	now     time.Time
	coupons map[int64]coupon.Coupon
	orders  map[int64]order.Order
	byKey   map[string]int64
	nextID  int64
	left    []int64

	returning, cameBack int64 // units of ended orders

	say     func(ctx context.Context) error // what every call returns, if set
	doubt   bool                            // Place returns its order together with the error
	reads   int                             // calls of Remaining
	audited any
}

func (s *shop) answer(ctx context.Context) error {
	s.mu.Lock()
	say := s.say
	s.mu.Unlock()
	if say == nil {
		return nil
	}
	return say(ctx)
}

func (s *shop) Create(ctx context.Context, c coupon.Coupon) (coupon.Coupon, error) {
	if err := s.answer(ctx); err != nil {
		return coupon.Coupon{}, err
	}
	if err := c.Validate(); err != nil {
		return coupon.Coupon{}, fmt.Errorf("create a coupon in the database at 10.0.0.7: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c.ID, c.State, c.Left = int64(len(s.coupons)+1), coupon.Draft, c.Total
	s.coupons[c.ID] = c
	return c, nil
}

func (s *shop) coupon(ctx context.Context, id int64, change func(*coupon.Coupon) error) (coupon.Coupon, error) {
	if err := s.answer(ctx); err != nil {
		return coupon.Coupon{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c, ok := s.coupons[id]
	if !ok {
		return coupon.Coupon{}, coupon.ErrNotFound
	}
	if change != nil {
		if err := change(&c); err != nil {
			return coupon.Coupon{}, err
		}
		s.coupons[id] = c
	}
	return c, nil
}

func (s *shop) Publish(ctx context.Context, id int64) (coupon.Coupon, error) {
	return s.coupon(ctx, id, func(c *coupon.Coupon) error {
		c.State, c.Epoch, c.Shards = coupon.OnSale, c.Epoch+1, len(s.left)
		return nil
	})
}

func (s *shop) Pause(ctx context.Context, id int64) (coupon.Coupon, error) {
	return s.coupon(ctx, id, func(c *coupon.Coupon) error {
		if c.State != coupon.OnSale {
			return fmt.Errorf("%w: a coupon that is %s cannot be paused", coupon.ErrConflict, c.State)
		}
		c.State = coupon.Paused
		return nil
	})
}

func (s *shop) Patch(ctx context.Context, id int64, ch coupon.Change) (coupon.Coupon, error) {
	return s.coupon(ctx, id, func(c *coupon.Coupon) error {
		if ch.Title != nil {
			c.Title = *ch.Title
		}
		if ch.End {
			c.State = coupon.Ended
		}
		return c.Validate()
	})
}

func (s *shop) Remaining(ctx context.Context, _ int64, _ int) ([]int64, error) {
	if err := s.answer(ctx); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reads++
	return s.left, nil
}

func (s *shop) Ledger(ctx context.Context, id int64) (Ledger, error) {
	c, err := s.coupon(ctx, id, nil)
	return Ledger{Units: c.Total, Unsold: c.Left, Returning: s.returning}, err
}

func (s *shop) LiveStats(ctx context.Context, _ coupon.Coupon) (LiveStats, error) {
	return LiveStats{
		Holds: []int64{1, 0, 0, 2}, CameBack: s.cameBack, P99: 12_345 * time.Microsecond, LocksHeld: 3, LocksWaiting: 1,
		Instances: []Instance{{Name: "one", SoldOut: true, Self: true}},
	}, s.answer(ctx)
}

func (s *shop) Audit(ctx context.Context, id int64) (any, error) {
	_, err := s.coupon(ctx, id, nil)
	return s.audited, err
}

func (s *shop) Repair(ctx context.Context, id int64) (any, error) { return s.Audit(ctx, id) }

// catalog is the shop as the page sees it: Get and List return coupons.
type catalog struct{ *shop }

func (s catalog) Get(ctx context.Context, id int64) (coupon.Coupon, error) {
	c, err := s.Read(ctx, id)
	if err == nil && c.State == coupon.Draft {
		return coupon.Coupon{}, coupon.ErrNotFound
	}
	return c, err
}

func (s catalog) List(ctx context.Context, after int64, limit int) ([]coupon.Coupon, error) {
	all, err := s.ReadAll(ctx, after, limit)
	return slices.DeleteFunc(all, func(c coupon.Coupon) bool { return c.State == coupon.Draft }), err
}

func (s *shop) Read(ctx context.Context, id int64) (coupon.Coupon, error) {
	return s.coupon(ctx, id, nil)
}

func (s *shop) ReadAll(ctx context.Context, after int64, limit int) ([]coupon.Coupon, error) {
	if err := s.answer(ctx); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []coupon.Coupon
	for id := after + 1; id <= int64(len(s.coupons)) && len(all) < limit; id++ {
		all = append(all, s.coupons[id])
	}
	return all, nil
}

// desk is the shop as a buyer sees it: Get and List return orders.
type desk struct{ *shop }

func (s desk) Place(ctx context.Context, r order.Request) (order.Order, error) {
	err := s.answer(ctx)
	if err != nil && !s.doubt {
		return order.Order{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if id := s.byKey[r.Key]; r.Key != "" && id != 0 {
		return s.orders[id], nil
	}
	s.nextID++
	o := order.Order{
		ID: s.nextID, CouponID: r.CouponID, UserID: r.UserID, Status: order.Pending, PriceCents: 990,
		RequestID: "r" + strconv.FormatInt(s.nextID, 10), CreatedAt: s.now, ExpiresAt: s.now.Add(15 * time.Minute),
	}
	s.orders[o.ID] = o
	if r.Key != "" {
		s.byKey[r.Key] = o.ID
	}
	return o, err
}

func (s desk) Get(ctx context.Context, id, userID int64) (order.Order, error) {
	if err := s.answer(ctx); err != nil {
		return order.Order{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	o, ok := s.orders[id]
	if !ok || o.UserID != userID {
		return order.Order{}, fmt.Errorf("read order %d: %w", id, order.ErrNotFound)
	}
	return o, nil
}

func (s desk) List(ctx context.Context, userID, before int64, limit int) ([]order.Order, error) {
	if err := s.answer(ctx); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []order.Order
	for id := s.nextID; id > 0 && len(all) < limit; id-- {
		if o := s.orders[id]; o.UserID == userID && (before == 0 || id < before) {
			all = append(all, o)
		}
	}
	return all, nil
}

func (s desk) move(ctx context.Context, id, userID int64, to order.Status) (order.Order, error) {
	o, err := s.Get(ctx, id, userID)
	if err != nil {
		return order.Order{}, err
	}
	if o.Status != order.Pending && o.Status != to {
		return order.Order{}, fmt.Errorf("%w: it is %s", order.ErrConflict, o.Status)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	o.Status = to
	s.orders[id] = o
	return o, nil
}

func (s desk) Pay(ctx context.Context, id, userID int64) (order.Order, error) {
	return s.move(ctx, id, userID, order.Paid)
}

func (s desk) Cancel(ctx context.Context, id, userID int64) (order.Order, error) {
	return s.move(ctx, id, userID, order.Cancelled)
}

// newShop returns a shop with one coupon on sale, of 100 units in 4 shards.
func newShop() *shop {
	now := time.Date(2030, 1, 31, 18, 0, 0, 123_456_789, time.FixedZone("CET", 3600))
	return &shop{
		now: now, orders: map[int64]order.Order{}, byKey: map[string]int64{}, nextID: 1000,
		left: []int64{25, 24, 23, 22}, audited: map[string]any{"clean": true},
		coupons: map[int64]coupon.Coupon{1: {
			ID: 1, Title: "Tea", Total: 100, Left: 94, LimitPerUser: 1, PriceCents: 990,
			BeginsAt: now.Add(-time.Hour), EndsAt: now.Add(time.Hour), State: coupon.OnSale, Epoch: 1, Shards: 4,
		}},
	}
}

var testSecret = []byte("a secret of more than thirty-two bytes")

func (s *shop) parts() Deps {
	return Deps{Coupons: catalog{s}, Editor: s, Orders: desk{s}, Payments: desk{s}, Stock: s, Auditor: s, SaleStatus: s}
}

// serve returns a server over the shop. Its clock stands still unless the options have another.
func (s *shop) serve(t testing.TB, o Options) *Server {
	t.Helper()
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = func() time.Time { return s.now }
	}
	var err error
	o.Tokens, err = auth.Options{Secrets: []auth.Secret{{Secret: testSecret}}, TTL: time.Hour, Now: o.Now}.Tokens()
	require.NoError(t, err)
	server, err := New(o, s.parts())
	require.NoError(t, err)
	t.Cleanup(server.Close)
	return server
}
