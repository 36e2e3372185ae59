-- What came back of an epoch, by user; sql/mysql says more.

-- +goose Up
DROP INDEX stock_returns_coupon;
CREATE INDEX stock_returns_epoch ON stock_returns (coupon_id, epoch, user_id);

-- +goose Down
DROP INDEX stock_returns_epoch;
CREATE INDEX stock_returns_coupon ON stock_returns (coupon_id);
