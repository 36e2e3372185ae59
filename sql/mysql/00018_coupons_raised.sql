-- How many units were added to a coupon while it was on sale, in all since an epoch began. In a later
-- epoch the number counts as 0: the epoch began with those units.

-- +goose Up
ALTER TABLE coupons ADD COLUMN raised BIGINT NOT NULL DEFAULT 0, ADD COLUMN raised_epoch BIGINT NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE coupons DROP COLUMN raised, DROP COLUMN raised_epoch;
