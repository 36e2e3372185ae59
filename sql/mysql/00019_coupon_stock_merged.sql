-- Moves the units of each coupon from its rows of coupon_stock into the coupon's row, and deletes those rows.
-- The table and the column stock_rows stay, empty and 0: an instance of the version before reads both
-- with every coupon, whatever its configuration, and it sells until it is replaced.
--
-- The locks come first, in the order in which that version takes them. At READ COMMITTED the sum alone
-- locks nothing, and would count a unit again that an open transaction has taken.

-- +goose Up
SELECT id FROM coupons WHERE stock_rows > 0 FOR UPDATE;
SELECT coupon_id FROM coupon_stock FOR UPDATE;
UPDATE coupons
  SET stock = stock + COALESCE((SELECT SUM(s.stock) FROM coupon_stock AS s WHERE s.coupon_id = coupons.id), 0), stock_rows = 0
  WHERE stock_rows > 0 OR EXISTS (SELECT 1 FROM coupon_stock AS s WHERE s.coupon_id = coupons.id);
DELETE FROM coupon_stock;

-- +goose Down
