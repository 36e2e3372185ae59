-- The keys that let orders be partitioned by user; sql/mysql says more. SQLite cannot
-- change a key, so the table is made anew.

-- +goose Up
ALTER TABLE orders RENAME TO orders_before;
CREATE TABLE orders (
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
  PRIMARY KEY (id, user_id),
  CONSTRAINT orders_slot UNIQUE (coupon_id, user_id, slot),
  CONSTRAINT orders_request UNIQUE (request_id, user_id)
);
INSERT INTO orders SELECT * FROM orders_before;
DROP TABLE orders_before;
CREATE INDEX orders_user ON orders (user_id, id);
CREATE INDEX orders_due ON orders (status, expires_at);

-- +goose Down
ALTER TABLE orders RENAME TO orders_before;
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
INSERT INTO orders SELECT * FROM orders_before;
DROP TABLE orders_before;
CREATE INDEX orders_user ON orders (user_id, id);
CREATE INDEX orders_due ON orders (status, expires_at);
