package lottery

import "example.com/seckill/internal/coupon"

// DrawDue reports whether the tickets of a coupon may have to be drawn.
func (s *Service) DrawDue(sale coupon.Coupon) bool { return s.drawDue(sale) }
