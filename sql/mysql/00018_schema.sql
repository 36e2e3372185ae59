-- The whole schema. The numbers start at 18, because databases of that version exist. A database of an earlier
-- version needs an earlier build of the program first.
--
-- A CREATE TABLE commits by itself. If this migration is killed, the next run drops the tables that have no rows
-- and starts again. So the only row is written last, in one transaction with the version.
--
-- There is no foreign key to coupons. It would lock the coupon's row too early, and orders would deadlock.

-- +goose Up

-- The sales. Each order lowers stock with "UPDATE … SET stock = stock - 1 WHERE id = ? AND stock > 0". This
-- statement is the last line against overselling.
CREATE TABLE coupons (
  id             BIGINT       NOT NULL AUTO_INCREMENT,
  title          VARCHAR(200) NOT NULL,
  total          BIGINT       NOT NULL, -- units that were put on sale, with the units that were added later
  stock          BIGINT       NOT NULL, -- units that are not sold
  limit_per_user INT          NOT NULL, -- live orders that one user may have
  price_cents    BIGINT       NOT NULL,
  begins_at      DATETIME(3)  NOT NULL, -- the first moment of the sale
  ends_at        DATETIME(3)  NOT NULL, -- the first moment after the sale
  state          VARCHAR(16)  CHARACTER SET ascii COLLATE ascii_bin NOT NULL, -- draft, on_sale, paused, ended
  epoch          BIGINT       NOT NULL DEFAULT 0, -- the latest loading of the stock into Redis, 0 before the first
  shards         INT          NOT NULL DEFAULT 0, -- counters in Redis, 0 if the stock is not in Redis
  loading        TINYINT(1)   NOT NULL DEFAULT 0, -- 0: loaded, 1: no shard of the epoch may be open, 2: some may be
  stock_rows     INT          NOT NULL DEFAULT 0, -- rows of coupon_stock, 0 after version 19
  raised         BIGINT       NOT NULL DEFAULT 0, -- units that were added to the running sale in raised_epoch
  raised_epoch   BIGINT       NOT NULL DEFAULT 0, -- in a later epoch raised counts as 0: it started with the units
  PRIMARY KEY (id),
  CONSTRAINT coupons_stock CHECK (stock >= 0 AND stock <= total)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4;

-- One row per order, and one per void request: a request that can never become an order. slot is NULL when the order
-- is not live, so that orders_slot limits live orders only. Every unique key contains user_id, so that a large
-- database can partition the table by user_id. A request id contains its user, so the key still makes it unique.
-- The primary key accepts one order id for two users. The program never makes such ids, and the audit looks for them.
CREATE TABLE orders (
  id          BIGINT          NOT NULL,
  coupon_id   BIGINT          NOT NULL,
  user_id     BIGINT          NOT NULL,
  slot        INT             NULL,     -- 1 to the coupon's limit per user while the order is live
  status      VARCHAR(16)     CHARACTER SET ascii COLLATE ascii_bin NOT NULL, -- pending, paid, cancelled, expired, void
  price_cents BIGINT          NOT NULL,
  request_id  VARCHAR(64)     CHARACTER SET ascii COLLATE ascii_bin NOT NULL, -- compared byte by byte
  shard       INT             NOT NULL, -- the shard that gave the unit
  fence       BIGINT UNSIGNED NOT NULL, -- of the lock that the request held
  created_at  DATETIME(3)     NOT NULL,
  expires_at  DATETIME(3)     NOT NULL, -- when the unpaid order expires
  PRIMARY KEY (id, user_id),
  UNIQUE KEY orders_slot (coupon_id, user_id, slot),
  UNIQUE KEY orders_request (request_id, user_id),
  KEY orders_user (user_id, id),
  KEY orders_due (status, expires_at)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4;

-- The orders of sales that ended long ago. `seckill archive` moves them here. The columns are those of orders, and the
-- keys are the two that queries still use.
CREATE TABLE orders_archive (
  id          BIGINT          NOT NULL,
  coupon_id   BIGINT          NOT NULL,
  user_id     BIGINT          NOT NULL,
  slot        INT             NULL,
  status      VARCHAR(16)     CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  price_cents BIGINT          NOT NULL,
  request_id  VARCHAR(64)     CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  shard       INT             NOT NULL,
  fence       BIGINT UNSIGNED NOT NULL,
  created_at  DATETIME(3)     NOT NULL,
  expires_at  DATETIME(3)     NOT NULL,
  PRIMARY KEY (coupon_id, user_id, id),
  KEY orders_archive_user (user_id, id)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4;

-- The largest fence of each user's orders. A holder of the user's lock with a smaller fence has lost the lock and may
-- not write.
CREATE TABLE fences (
  user_id BIGINT          NOT NULL,
  fence   BIGINT UNSIGNED NOT NULL,
  PRIMARY KEY (user_id)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4;

-- The outbox: units that went back in the database and that Redis does not have. The transaction that ends an order
-- writes the row, and the relay deletes it when Redis has the unit. A loading counts the rows of its epoch, page by
-- page of users.
CREATE TABLE stock_returns (
  order_id  BIGINT NOT NULL,
  coupon_id BIGINT NOT NULL,
  user_id   BIGINT NOT NULL,
  shard     INT    NOT NULL, -- the shard that gave the unit
  epoch     BIGINT NOT NULL, -- of the coupon when the unit went back
  shards    INT    NOT NULL, -- of the coupon when the unit went back
  PRIMARY KEY (order_id, user_id),
  KEY stock_returns_epoch (coupon_id, epoch, user_id)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4;

-- One counter per lock key, for locks without a reliable fence of their own. The counter starts from the server's
-- clock. A row stays until the clock is long past its counter, because a fence may never be given twice.
CREATE TABLE lock_fences (
  name  VARBINARY(255)  NOT NULL, -- compared byte by byte
  fence BIGINT UNSIGNED NOT NULL,
  PRIMARY KEY (name)
) ENGINE = InnoDB;

-- The leases of the lock that lives in the database. Rows stay as in lock_fences, so that their counters go on.
CREATE TABLE lock_leases (
  name       VARBINARY(255)  NOT NULL,
  token      VARBINARY(64)   NOT NULL, -- the holder, empty after a release
  counter    BIGINT UNSIGNED NOT NULL, -- the last fence that was given, or a number that the next fence must exceed
  fence      BIGINT UNSIGNED NOT NULL, -- of the holder
  expires_at DATETIME(6)     NOT NULL, -- by the server's clock, in UTC
  PRIMARY KEY (name)
) ENGINE = InnoDB;

-- The identity of this database, in one row. If Redis has a larger mark than this row, the database was set back.
CREATE TABLE deployment (
  id     VARCHAR(64)  CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  mark   BIGINT       NOT NULL DEFAULT 0,  -- grows with every heartbeat
  server VARCHAR(255) NOT NULL DEFAULT '', -- the database server of the latest heartbeat
  PRIMARY KEY (id)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4;

-- The draws of sales with order.queue_order: lottery. The row is written before the first ticket. Buyers see a hash of
-- the seed until ended_at.
CREATE TABLE lottery_draws (
  coupon_id BIGINT      NOT NULL,
  seed      VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL, -- 32 random bytes, in hex
  begun_at  DATETIME(3) NULL,               -- after this time no ticket is given
  ended_at  DATETIME(3) NULL,               -- every winner has a row in orders
  entrants  BIGINT      NOT NULL DEFAULT 0, -- of a draw that has ended, as are the next two
  winners   BIGINT      NOT NULL DEFAULT 0,
  last_rank VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '', -- of the last winner, in hex
  PRIMARY KEY (coupon_id)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4;

-- The tickets of draws: one row per user and draw.
CREATE TABLE lottery_entrants (
  coupon_id  BIGINT      NOT NULL,
  user_id    BIGINT      NOT NULL,
  id         BIGINT      NOT NULL, -- of the ticket
  request_id VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL, -- of the order, if the user wins
  created_at DATETIME(3) NOT NULL,
  PRIMARY KEY (coupon_id, user_id),
  KEY lottery_entrants_id (id)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4;

-- Units of coupons in one row per shard, as instances of version 18 may keep them. Version 19 empties the table.
CREATE TABLE coupon_stock (
  coupon_id BIGINT NOT NULL,
  shard     INT    NOT NULL,
  epoch     BIGINT NOT NULL, -- the coupon's latest
  stock     BIGINT NOT NULL, -- units that are not sold, in addition to coupons.stock
  PRIMARY KEY (coupon_id, shard),
  CONSTRAINT coupon_stock_stock CHECK (stock >= 0)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4;

-- The CREATE TABLE statements ended the transaction of the migration.
START TRANSACTION;
INSERT INTO deployment (id) VALUES (REPLACE(UUID(), '-', ''));
