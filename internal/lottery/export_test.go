package lottery

import "example.com/seckill/internal/coupon"

// SetMaxQueued lets a draw queue that many tickets at most.
func (s *Service) SetMaxQueued(most int64) { s.maxQueued = most }

// DrawDue reports whether the tickets of a coupon may have to be drawn.
func (s *Service) DrawDue(sale coupon.Coupon) bool { return s.drawDue(sale) }
