package api

import (
	"context"
	"errors"
	"net/http"
)

// Rush runs a workload of simulated buyers against this server, one run at a time. It is meant for
// demonstrations, on stores whose data may be lost.
type Rush interface {
	// Start returns when the run has begun; ErrUnderWay if another has not ended. Visitors give way to it.
	Start(o RushRequest) error
	// Stop ends the run in progress, if there is one. Its report says that it was stopped.
	Stop()
	// Status returns the progress of the run, or how the last one ended.
	Status() RushStatus
}

// ErrUnderWay means that another run has not ended yet.
var ErrUnderWay = errors.New("api: one is under way already")

// RushRequest describes the buyers of a run.
type RushRequest struct {
	CouponID int64
	Users    int // distinct buyers
	PerS     int // taps a second; 0 is as fast as possible
	Pay      int // percentage of accepted orders that are paid
	Cancel   int // percentage of accepted orders that are cancelled
}

// RushStatus is the progress of a run. Each tap that was sent ends in one of accepted, refused
// and failed.
type RushStatus struct {
	Running  bool   `json:"running"`
	Visitors bool   `json:"visitors,omitempty"` // they come until they are stopped, or another run takes their place
	CouponID int64  `json:"coupon_id,string"`   // 0 before the first run
	Taps     int    `json:"taps"`               // in the whole run
	Asked    int    `json:"asked"`
	Accepted int    `json:"accepted"`
	Refused  int    `json:"refused"`
	Failed   int    `json:"failed"`
	Error    string `json:"error,omitempty"`  // why there was no run
	Report   any    `json:"report,omitempty"` // once it has ended: as `seckill rush --json`
}

// maxRush is the most taps that a visitor may start.
const maxRush = 200_000

type startRushRequest struct{ RushRequest }

func (r *startRushRequest) read(in *input) {
	var users, rate, pay, cancel *int
	in.body(fields{
		"coupon_id": asID(&r.CouponID), "users": asNumber(&users), "per_second": asNumber(&rate),
		"pay_percent": asNumber(&pay), "cancel_percent": asNumber(&cancel),
	})
	number := func(name string, n *int, into *int, low, high int) {
		if n != nil {
			*into = *n
		}
		if *into < low || *into > high {
			in.refuse(malformed("field %q must be from %d to %d", name, low, high))
		}
	}
	number("users", users, &r.Users, 1, maxRush)
	number("per_second", rate, &r.PerS, 0, maxRush)
	number("pay_percent", pay, &r.Pay, 0, 100)
	number("cancel_percent", cancel, &r.Cancel, 0, 100-r.Pay)
	if r.CouponID == 0 {
		in.refuse(malformed("field %q is missing", "coupon_id"))
	}
}

// rushing is the response to a run that has been started.
type rushing struct{ RushStatus }

func (rushing) writeHeader(http.Header) int { return http.StatusAccepted }

// rush returns the runner, or errNoRoute on a server without one.
func (s *Server) rush() (Rush, error) {
	if s.deps.Rush == nil {
		return nil, errNoRoute
	}
	return s.deps.Rush, nil
}

func (s *Server) startRush(ctx context.Context, r startRushRequest) (rushing, error) {
	rush, err := s.rush()
	if err == nil {
		_, err = s.deps.Coupons.Get(ctx, r.CouponID)
	}
	if err == nil {
		err = rush.Start(r.RushRequest)
	}
	if err != nil {
		return rushing{}, err
	}
	return rushing{rush.Status()}, nil
}

// nothing is a request without parameters.
type nothing struct{}

func (*nothing) read(in *input) {
	if in.c.Request.Method != http.MethodGet && in.c.Request.Method != http.MethodHead {
		in.noBody()
	}
}

func (s *Server) seeRush(context.Context, nothing) (RushStatus, error) {
	rush, err := s.rush()
	if err != nil {
		return RushStatus{}, err
	}
	return rush.Status(), nil
}

func (s *Server) stopRush(context.Context, nothing) (RushStatus, error) {
	rush, err := s.rush()
	if err != nil {
		return RushStatus{}, err
	}
	rush.Stop()
	return rush.Status(), nil
}
