-- A loading counts, page by page, what came back of its epoch since it began: of a range
-- of users of one coupon.

-- +goose Up
ALTER TABLE stock_returns
  DROP KEY stock_returns_coupon, ADD KEY stock_returns_epoch (coupon_id, epoch, user_id);

-- +goose Down
ALTER TABLE stock_returns
  DROP KEY stock_returns_epoch, ADD KEY stock_returns_coupon (coupon_id);
