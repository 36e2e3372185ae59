-- loading is set with the begin of an epoch and taken back when the shards hold it.
-- In between nobody is admitted; whoever finds it set loads the coupon again.

-- +goose Up
ALTER TABLE coupons ADD COLUMN loading TINYINT(1) NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE coupons DROP COLUMN loading;
