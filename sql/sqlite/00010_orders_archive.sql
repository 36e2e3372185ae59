-- The orders of sales that ended long ago; sql/mysql says more.

-- +goose Up
CREATE TABLE orders_archive (
  id          INTEGER  NOT NULL,
  coupon_id   INTEGER  NOT NULL,
  user_id     INTEGER  NOT NULL,
  slot        INTEGER  NULL,
  status      TEXT     NOT NULL,
  price_cents INTEGER  NOT NULL,
  request_id  TEXT     NOT NULL,
  shard       INTEGER  NOT NULL,
  fence       INTEGER  NOT NULL,
  created_at  DATETIME NOT NULL,
  expires_at  DATETIME NOT NULL,
  PRIMARY KEY (coupon_id, user_id, id)
);
CREATE INDEX orders_archive_user ON orders_archive (user_id, id);

-- +goose Down
DROP TABLE orders_archive;
