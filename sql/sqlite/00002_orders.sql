-- One row an order, and one a void request; sql/mysql says more.

-- +goose Up
CREATE TABLE orders (
  id          INTEGER  NOT NULL PRIMARY KEY,
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
  CONSTRAINT orders_slot UNIQUE (coupon_id, user_id, slot),
  CONSTRAINT orders_request UNIQUE (request_id)
);
CREATE INDEX orders_user ON orders (user_id, id);
CREATE INDEX orders_due ON orders (status, expires_at);

-- +goose Down
DROP TABLE orders;
