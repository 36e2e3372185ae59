-- Moves the units of each coupon into the coupon's row; sql/mysql says more.

-- +goose Up
UPDATE coupons
  SET stock = stock + COALESCE((SELECT SUM(s.stock) FROM coupon_stock AS s WHERE s.coupon_id = coupons.id), 0), stock_rows = 0
  WHERE stock_rows > 0 OR EXISTS (SELECT 1 FROM coupon_stock AS s WHERE s.coupon_id = coupons.id);
DELETE FROM coupon_stock;

-- +goose Down
