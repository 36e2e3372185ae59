-- The whole schema. sql/mysql explains the tables and their columns.

-- +goose Up
CREATE TABLE coupons (
  id             INTEGER  PRIMARY KEY AUTOINCREMENT,
  title          TEXT     NOT NULL,
  total          INTEGER  NOT NULL,
  stock          INTEGER  NOT NULL,
  limit_per_user INTEGER  NOT NULL,
  price_cents    INTEGER  NOT NULL,
  begins_at      DATETIME NOT NULL,
  ends_at        DATETIME NOT NULL,
  state          TEXT     NOT NULL,
  epoch          INTEGER  NOT NULL DEFAULT 0,
  shards         INTEGER  NOT NULL DEFAULT 0,
  loading        INTEGER  NOT NULL DEFAULT 0,
  stock_rows     INTEGER  NOT NULL DEFAULT 0,
  raised         INTEGER  NOT NULL DEFAULT 0,
  raised_epoch   INTEGER  NOT NULL DEFAULT 0,
  CONSTRAINT coupons_stock CHECK (stock >= 0 AND stock <= total)
);

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
CREATE INDEX orders_user ON orders (user_id, id);
CREATE INDEX orders_due ON orders (status, expires_at);

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

CREATE TABLE fences (
  user_id INTEGER NOT NULL PRIMARY KEY,
  fence   INTEGER NOT NULL
);

CREATE TABLE stock_returns (
  order_id  INTEGER NOT NULL,
  coupon_id INTEGER NOT NULL,
  user_id   INTEGER NOT NULL,
  shard     INTEGER NOT NULL,
  epoch     INTEGER NOT NULL,
  shards    INTEGER NOT NULL,
  PRIMARY KEY (order_id, user_id)
);
CREATE INDEX stock_returns_epoch ON stock_returns (coupon_id, epoch, user_id);

CREATE TABLE lock_fences (
  name  TEXT    NOT NULL PRIMARY KEY,
  fence INTEGER NOT NULL
);

-- No lock uses this table on SQLite. It keeps the two schemas alike.
CREATE TABLE lock_leases (
  name       TEXT     NOT NULL PRIMARY KEY,
  token      TEXT     NOT NULL,
  counter    INTEGER  NOT NULL,
  fence      INTEGER  NOT NULL,
  expires_at DATETIME NOT NULL
);

CREATE TABLE deployment (
  id     TEXT    NOT NULL PRIMARY KEY,
  mark   INTEGER NOT NULL DEFAULT 0,
  server TEXT    NOT NULL DEFAULT ''
);

CREATE TABLE lottery_draws (
  coupon_id INTEGER  NOT NULL PRIMARY KEY,
  seed      TEXT     NOT NULL,
  begun_at  DATETIME NULL,
  ended_at  DATETIME NULL,
  entrants  INTEGER  NOT NULL DEFAULT 0,
  winners   INTEGER  NOT NULL DEFAULT 0,
  last_rank TEXT     NOT NULL DEFAULT ''
);

CREATE TABLE lottery_entrants (
  coupon_id  INTEGER  NOT NULL,
  user_id    INTEGER  NOT NULL,
  id         INTEGER  NOT NULL,
  request_id TEXT     NOT NULL,
  created_at DATETIME NOT NULL,
  PRIMARY KEY (coupon_id, user_id)
);
CREATE INDEX lottery_entrants_id ON lottery_entrants (id);

CREATE TABLE coupon_stock (
  coupon_id INTEGER NOT NULL,
  shard     INTEGER NOT NULL,
  epoch     INTEGER NOT NULL,
  stock     INTEGER NOT NULL,
  PRIMARY KEY (coupon_id, shard),
  CONSTRAINT coupon_stock_stock CHECK (stock >= 0)
);

INSERT INTO deployment (id) VALUES (lower(hex(randomblob(16))));
