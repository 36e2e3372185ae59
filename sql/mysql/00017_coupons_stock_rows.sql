-- In how many rows of coupon_stock the units are; 0: in coupons.stock.

-- +goose Up
ALTER TABLE coupons ADD COLUMN stock_rows INT NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE coupons DROP COLUMN stock_rows;
