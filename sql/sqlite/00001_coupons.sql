-- What is on sale; sql/mysql says more.

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
  CONSTRAINT coupons_stock CHECK (stock >= 0 AND stock <= total)
);

-- +goose Down
DROP TABLE coupons;
