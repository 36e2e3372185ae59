package scale

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"example.com/seckill/internal/tools/servers"
)

// giveTickets starts an instance that draws, and fills in a ticket for every buyer of a new coupon. The coupon has a
// unit for every second ticket. The instance draws the tickets when the coupon is published.
func (s *sale) giveTickets(ctx context.Context) (_ string, err error) {
	settings := slices.Concat(s.settings, []string{
		"SECKILL_ORDER__MODE=queue", "SECKILL_ORDER__QUEUE_ORDER=lottery", "SECKILL_ORDER__LOTTERY_WINDOW=1s",
	})
	s.drawer, err = servers.Serve(ctx, servers.Command(context.WithoutCancel(ctx), s.dir, s.Program, settings, "serve"))
	if err != nil {
		return "", err
	}
	s.OnClose(s.drawer.Stop)
	if s.drawn, err = s.announce(ctx, s.buyers/2); err != nil {
		return "", err
	}
	const insert = `INSERT INTO lottery_entrants (coupon_id, user_id, id, request_id, created_at)
		SELECT ?, n.seq, (1 << 51) + n.seq, CONCAT('ticket:', n.seq), UTC_TIMESTAMP(3) FROM seq_%d_to_%d AS n`
	err = s.pages(ctx, s.buyers, func(ctx context.Context, from, to int64) error {
		return s.exec(ctx, fmt.Sprintf(insert, from, to), s.drawn)
	})
	if err != nil {
		return "", fmt.Errorf("fill in tickets: %w", err)
	}
	return fmt.Sprintf("%d tickets", s.buyers), nil
}

// draw publishes the coupon and waits until its draw has ended.
func (s *sale) draw(ctx context.Context, r *Row) (err error) {
	seller, sold := s.program, s.coupon
	s.program, s.coupon = s.drawer, s.drawn
	defer func() { s.program, s.coupon = seller, sold }()
	if err := s.load(ctx, s.drawn); err != nil {
		return err
	}
	r.Items = s.buyers
	var is struct {
		EndedAt string `json:"ended_at"`
		Winners int64  `json:"winners"`
	}
	url := s.program.URL + "/api/v1/coupons/" + s.drawn + "/draw"
	err = s.awaitTimed(ctx, r, func(ctx context.Context) (bool, error) {
		err := servers.AskJSON(ctx, admins, http.MethodGet, url, s.admin, nil, &is)
		return is.EndedAt != "", err
	})
	if err != nil {
		return fmt.Errorf("read the draw: %w", err)
	}
	r.note("%d winners, %.0f a second", is.Winners, float64(is.Winners)/r.Took.Seconds())
	if is.Winners != s.buyers/2 {
		r.Violated = append(r.Violated, fmt.Sprintf("%d of %d tickets won, with %d units", is.Winners, s.buyers, s.buyers/2))
	}
	var audit Row
	err = s.audit(ctx, &audit)
	r.Violated = append(r.Violated, audit.Violated...)
	return errors.Join(err, ctx.Err())
}
