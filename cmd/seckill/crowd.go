package main

import (
	"context"
	"strconv"
	"sync"

	"seckill/internal/api"
	"seckill/internal/rush"
)

// crowd lets the page call a rush on the server that serves it, over real HTTP.
type crowd struct {
	server *server

	mu       sync.Mutex
	stop     context.CancelFunc // of the rush that is under way, or nil
	runs     int64
	standing api.RushStanding
	running  sync.WaitGroup
}

func newCrowd(s *server) *crowd { return &crowd{server: s} }

// The buyers of each rush are new ones: their ids begin at millions of their own, far
// above those that a visitor is given.
const (
	firstBuyer = 1_000_000_000
	nextBuyers = 1_000_000
)

// Start signs the buyers' tokens with the server's own secret, as the demo does.
func (c *crowd) Start(o api.RushOrder) error {
	admin, err := c.server.token(1, api.RoleAdmin)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stop != nil {
		return api.ErrUnderWay
	}
	options := rush.Options{
		URL: c.server.url, Coupon: strconv.FormatInt(o.CouponID, 10), Users: o.Users, Rate: float64(o.PerS),
		FirstUser: firstBuyer + c.runs*nextBuyers, DoubleTapEvery: 3, Keys: true, PayPercent: o.Pay, CancelPercent: o.Cancel,
		Token: rush.Signed(c.server.app.cfg.Auth.Secret.Reveal()), AdminToken: admin, Tell: c.tell,
	}
	ctx, cancel := context.WithCancel(context.Background())
	c.stop = cancel
	c.runs++
	c.standing = api.RushStanding{Running: true, CouponID: o.CouponID, Taps: o.Users + o.Users/options.DoubleTapEvery}
	c.running.Go(func() {
		report, err := rush.Run(ctx, options)
		cancel()
		c.end(report, err)
	})
	return nil
}

func (c *crowd) tell(s rush.Standing) {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := &c.standing
	at.Taps, at.Asked, at.Accepted, at.Refused, at.Failed = s.Taps, s.Asked, s.Accepted, s.Refused, s.Failed
}

func (c *crowd) end(report rush.Report, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stop, c.standing.Running = nil, false
	if err != nil {
		c.standing.Error = err.Error()
		return
	}
	c.standing.Report = report
}

// Stop lets nobody else come; what is in flight ends.
func (c *crowd) Stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stop != nil {
		c.stop()
	}
}

// Standing is how far the rush has come.
func (c *crowd) Standing() api.RushStanding {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.standing
}

// close returns when nobody rushes any more.
func (c *crowd) close(context.Context) error {
	c.Stop()
	c.running.Wait()
	return nil
}
