-- Who takes part in draws, once each. request_id is that of the order that a winner is given.

-- +goose Up
CREATE TABLE lottery_entrants (
  coupon_id  BIGINT      NOT NULL,
  user_id    BIGINT      NOT NULL,
  id         BIGINT      NOT NULL,
  request_id VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  created_at DATETIME(3) NOT NULL,
  PRIMARY KEY (coupon_id, user_id),
  KEY lottery_entrants_id (id)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4;

-- +goose Down
DROP TABLE lottery_entrants;
