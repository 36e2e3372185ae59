-- One row an order, and one a void request. slot is 1 to the limit while the order
-- is live and NULL after, so that the unique index counts live orders only. There is
-- no foreign key to coupons: it would lock the hot row before its turn, and orders
-- would die of deadlocks. Request ids are compared byte by byte.

-- +goose Up
CREATE TABLE orders (
  id          BIGINT      NOT NULL,
  coupon_id   BIGINT      NOT NULL,
  user_id     BIGINT      NOT NULL,
  slot        INT         NULL,
  status      VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  price_cents BIGINT      NOT NULL,
  request_id  VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  shard       INT         NOT NULL,
  fence       BIGINT UNSIGNED NOT NULL,
  created_at  DATETIME(3) NOT NULL,
  expires_at  DATETIME(3) NOT NULL,
  PRIMARY KEY (id),
  UNIQUE KEY orders_slot (coupon_id, user_id, slot),
  UNIQUE KEY orders_request (request_id),
  KEY orders_user (user_id, id),
  KEY orders_due (status, expires_at)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4;

-- +goose Down
DROP TABLE orders;
