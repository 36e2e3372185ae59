-- Units that are owed to the shards; sql/mysql says more.

-- +goose Up
CREATE TABLE stock_returns (
  order_id  INTEGER NOT NULL PRIMARY KEY,
  coupon_id INTEGER NOT NULL,
  user_id   INTEGER NOT NULL,
  shard     INTEGER NOT NULL,
  epoch     INTEGER NOT NULL,
  shards    INTEGER NOT NULL
);
CREATE INDEX stock_returns_coupon ON stock_returns (coupon_id);

-- +goose Down
DROP TABLE stock_returns;
