-- The outbox goes with the orders; sql/mysql says more.

-- +goose Up
ALTER TABLE stock_returns RENAME TO stock_returns_before;
CREATE TABLE stock_returns (
  order_id  INTEGER NOT NULL,
  coupon_id INTEGER NOT NULL,
  user_id   INTEGER NOT NULL,
  shard     INTEGER NOT NULL,
  epoch     INTEGER NOT NULL,
  shards    INTEGER NOT NULL,
  PRIMARY KEY (order_id, user_id)
);
INSERT INTO stock_returns SELECT * FROM stock_returns_before;
DROP TABLE stock_returns_before;
CREATE INDEX stock_returns_coupon ON stock_returns (coupon_id);

-- +goose Down
ALTER TABLE stock_returns RENAME TO stock_returns_before;
CREATE TABLE stock_returns (
  order_id  INTEGER NOT NULL PRIMARY KEY,
  coupon_id INTEGER NOT NULL,
  user_id   INTEGER NOT NULL,
  shard     INTEGER NOT NULL,
  epoch     INTEGER NOT NULL,
  shards    INTEGER NOT NULL
);
INSERT INTO stock_returns SELECT * FROM stock_returns_before;
DROP TABLE stock_returns_before;
CREATE INDEX stock_returns_coupon ON stock_returns (coupon_id);
