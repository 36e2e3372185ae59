package scale

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/seckill/internal/coupon"
)

// filled is how many rows one statement inserts or changes.
const filled = 50_000

// pages calls do for the buyers from 1 to last, page by page.
func (s *sale) pages(ctx context.Context, last int64, do func(ctx context.Context, from, to int64) error) error {
	for from := int64(1); from <= last; from += filled {
		if err := do(ctx, from, min(from+filled-1, last)); err != nil {
			return fmt.Errorf("buyers from %d on: %w", from, err)
		}
	}
	return nil
}

func (s *sale) exec(ctx context.Context, statement string, args ...any) error {
	_, err := s.raw.ExecContext(ctx, statement, args...)
	return err //nolint:wrapcheck // the callers say what it was for
}

// units returns the units of the coupon: some are left after the last buyer.
func (s *sale) units() int64 { return s.buyers + s.buyers/10 }

// sellBefore makes sure that the sale exists before a phase that needs it. If no phase has played the sale,
// sellBefore inserts it as orders that await their payment.
func (s *sale) sellBefore(ctx context.Context, p phase) (string, error) {
	if p.first || s.sold {
		return "", nil
	}
	s.sold = true
	var err error
	if s.coupon, err = s.announce(ctx, s.units()); err != nil {
		return "", err
	}
	s.watched.Store(new(s.coupon))
	const insert = `INSERT INTO orders
		(id, coupon_id, user_id, slot, status, price_cents, request_id, shard, fence, created_at, expires_at)
		SELECT n.seq, ?, n.seq, 1, 'pending', 199, CONCAT('filled:', LPAD(n.seq, 34, '0')), 0, 1,
			UTC_TIMESTAMP(3), UTC_TIMESTAMP(3) + INTERVAL 1 DAY FROM seq_%d_to_%d AS n;
		INSERT INTO fences (user_id, fence) SELECT n.seq, 1 FROM seq_%[1]d_to_%[2]d AS n`
	err = s.pages(ctx, s.buyers, func(ctx context.Context, from, to int64) error {
		return s.exec(ctx, fmt.Sprintf(insert, from, to), s.coupon)
	})
	if err == nil {
		err = s.exec(ctx, "UPDATE coupons SET stock = total - ? WHERE id = ?", s.buyers, s.coupon)
	}
	if err == nil {
		err = s.load(ctx, s.coupon)
	}
	if err != nil {
		return "", fmt.Errorf("fill it in: %w", err)
	}
	return fmt.Sprintf("the sale: %d orders", s.buyers), nil
}

// openHolds returns how many holds are left open, as by instances that died.
func (s *sale) openHolds() int64 { return max(20, s.buyers/50) }

// holder returns the user, order and request of the i-th hold. Its user ids follow the ids of all buyers.
func (s *sale) holder(i int64) (user, order int64, request string) {
	user = s.buyers + 1 + i
	return user, 1<<50 + user, "left:" + strconv.FormatInt(user, 10)
}

// leaveHolds leaves old holds open. Every second hold is committed. leaveHolds writes them to Redis with the
// commands that reserve.lua uses.
func (s *sale) leaveHolds(ctx context.Context) (string, error) {
	const before = 400
	n := s.openHolds()
	since := time.Now().Add(-time.Minute).UnixMilli()
	sold := int64(0)
	for i := int64(0); i < n; i += 2 {
		user, order, request := s.holder(i)
		err := s.exec(ctx, `INSERT INTO orders
			(id, coupon_id, user_id, slot, status, price_cents, request_id, shard, fence, created_at, expires_at)
			VALUES (?, ?, ?, 1, 'pending', 199, ?, 0, 1, UTC_TIMESTAMP(3), UTC_TIMESTAMP(3) + INTERVAL 1 DAY);
			INSERT INTO fences (user_id, fence) VALUES (?, 1)`, order, s.coupon, user, request, user)
		if err != nil {
			return "", fmt.Errorf("commit a hold: %w", err)
		}
		sold++
	}
	if err := s.exec(ctx, "UPDATE coupons SET stock = stock - ? WHERE id = ?", sold, s.coupon); err != nil {
		return "", fmt.Errorf("take the units of holds: %w", err)
	}
	for from := int64(0); from < n; from += before {
		_, err := s.client.TxPipelined(ctx, func(p redis.Pipeliner) error {
			for i := from; i < min(n, from+before); i++ {
				user, order, request := s.holder(i)
				tag := s.key(coupon.Home(user, shards), "")
				id, who := strconv.FormatInt(order, 10), strconv.FormatInt(user, 10)
				p.Decr(ctx, tag+"stock")
				p.HSet(ctx, tag+"holds", id, fmt.Sprintf("own %s %s %d ,%s,", request, who, since, id))
				p.ZAdd(ctx, tag+"ages", redis.Z{Score: float64(since), Member: id})
				p.HSet(ctx, tag+"requests", request, id)
				p.HIncrBy(ctx, tag+"open", who, 1)
				p.HIncrBy(ctx, tag+"meta", "ops", 1)
			}
			return nil
		})
		if err != nil {
			return "", fmt.Errorf("leave holds open: %w", err)
		}
	}
	return fmt.Sprintf("%d holds, %d of them committed", n, sold), nil
}

// overdue makes half of the orders overdue at the same moment.
func (s *sale) overdue(ctx context.Context) (string, error) {
	err := s.exec(ctx, `UPDATE orders SET expires_at = UTC_TIMESTAMP(3) - INTERVAL 1 SECOND
		WHERE coupon_id = ? AND user_id <= ? AND status = 'pending'`, s.coupon, s.buyers/2)
	if err != nil {
		return "", fmt.Errorf("make orders overdue: %w", err)
	}
	return "the time to pay of half of the orders is over", nil
}

// endLongAgo moves the end of the sale into the past.
func (s *sale) endLongAgo(ctx context.Context, ago string) error {
	err := s.exec(ctx, "UPDATE coupons SET begins_at = UTC_TIMESTAMP(3) - INTERVAL "+ago+" - INTERVAL 1 HOUR, "+
		"ends_at = UTC_TIMESTAMP(3) - INTERVAL "+ago+" WHERE id = ?", s.coupon)
	if err != nil {
		return fmt.Errorf("move the end: %w", err)
	}
	return nil
}

// growOld makes the sale as old as an archived sale: no order is pending, and the fences of its orders are old.
func (s *sale) growOld(ctx context.Context) (string, error) {
	if err := s.endNow(ctx); err != nil {
		return "", err
	}
	if err := s.endLongAgo(ctx, "49 HOUR"); err != nil {
		return "", err
	}
	last := s.buyers + s.openHolds()
	err := s.pages(ctx, last, func(ctx context.Context, from, to int64) error {
		return s.exec(ctx, `UPDATE orders SET fence = 1, status = IF(status = 'pending', 'paid', status)
			WHERE coupon_id = ? AND user_id BETWEEN ? AND ?;
			UPDATE fences SET fence = 1 WHERE user_id BETWEEN ? AND ?`, s.coupon, from, to, from, to)
	})
	if err != nil {
		return "", fmt.Errorf("make the orders old: %w", err)
	}
	return "the end is 49 hours ago, what was pending is paid, the fences are old", nil
}
