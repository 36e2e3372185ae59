-- The draws of sales with order.queue_order: lottery. The seed is made with the row, before the first
-- ticket is given, and shown as its hash until ended_at.

-- +goose Up
CREATE TABLE lottery_draws (
  coupon_id BIGINT      NOT NULL,
  seed      VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  begun_at  DATETIME(3) NULL,
  ended_at  DATETIME(3) NULL,
  entrants  BIGINT      NOT NULL DEFAULT 0,
  winners   BIGINT      NOT NULL DEFAULT 0,
  last_rank VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '',
  PRIMARY KEY (coupon_id)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4;

-- +goose Down
DROP TABLE lottery_draws;
