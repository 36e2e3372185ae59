-- What is left to sell of a coupon whose stock has a row for each shard: coupons.stock has the rest, as a
-- rule none. All rows of a coupon are of its latest epoch, and coupons.stock_rows counts them.

-- +goose Up
CREATE TABLE coupon_stock (
  coupon_id BIGINT NOT NULL,
  shard     INT    NOT NULL,
  epoch     BIGINT NOT NULL,
  stock     BIGINT NOT NULL,
  PRIMARY KEY (coupon_id, shard),
  CONSTRAINT coupon_stock_stock CHECK (stock >= 0)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4;

-- +goose Down
UPDATE coupons SET stock = stock + COALESCE((SELECT SUM(s.stock) FROM coupon_stock AS s WHERE s.coupon_id = coupons.id), 0);
DROP TABLE coupon_stock;
