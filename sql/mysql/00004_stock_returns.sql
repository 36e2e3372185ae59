-- The outbox: units that went back in the database and are owed to the shards. A row
-- is written with the change of the order and deleted when Redis has the unit.

-- +goose Up
CREATE TABLE stock_returns (
  order_id  BIGINT NOT NULL,
  coupon_id BIGINT NOT NULL,
  user_id   BIGINT NOT NULL,
  shard     INT    NOT NULL,
  epoch     BIGINT NOT NULL,
  shards    INT    NOT NULL,
  PRIMARY KEY (order_id),
  KEY stock_returns_coupon (coupon_id)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4;

-- +goose Down
DROP TABLE stock_returns;
