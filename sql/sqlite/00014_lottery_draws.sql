-- The draws of sales with order.queue_order: lottery; sql/mysql says more.

-- +goose Up
CREATE TABLE lottery_draws (
  coupon_id INTEGER  NOT NULL PRIMARY KEY,
  seed      TEXT     NOT NULL,
  begun_at  DATETIME NULL,
  ended_at  DATETIME NULL,
  entrants  INTEGER  NOT NULL DEFAULT 0,
  winners   INTEGER  NOT NULL DEFAULT 0,
  last_rank TEXT     NOT NULL DEFAULT ''
);

-- +goose Down
DROP TABLE lottery_draws;
