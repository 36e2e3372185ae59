-- What is on sale. stock is what is left to sell: the last word against overselling
-- is this row's, "UPDATE … SET stock = stock - 1 WHERE id = ? AND stock > 0".

-- +goose Up
CREATE TABLE coupons (
  id             BIGINT       NOT NULL AUTO_INCREMENT,
  title          VARCHAR(200) NOT NULL,
  total          BIGINT       NOT NULL,
  stock          BIGINT       NOT NULL,
  limit_per_user INT          NOT NULL,
  price_cents    BIGINT       NOT NULL,
  begins_at      DATETIME(3)  NOT NULL,
  ends_at        DATETIME(3)  NOT NULL,
  state          VARCHAR(16)  CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  epoch          BIGINT       NOT NULL DEFAULT 0,
  shards         INT          NOT NULL DEFAULT 0,
  PRIMARY KEY (id),
  CONSTRAINT coupons_stock CHECK (stock >= 0 AND stock <= total)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4;

-- +goose Down
DROP TABLE coupons;
