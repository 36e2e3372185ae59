-- The orders of sales that ended long ago, moved here by `seckill archive`: with the
-- columns of orders, and only the two keys that are still asked for.

-- +goose Up
CREATE TABLE orders_archive (
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
  PRIMARY KEY (coupon_id, user_id, id),
  KEY orders_archive_user (user_id, id)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4;

-- +goose Down
DROP TABLE orders_archive;
