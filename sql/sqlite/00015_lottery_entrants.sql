-- The tickets of draws; sql/mysql says more.

-- +goose Up
CREATE TABLE lottery_entrants (
  coupon_id  INTEGER  NOT NULL,
  user_id    INTEGER  NOT NULL,
  id         INTEGER  NOT NULL,
  request_id TEXT     NOT NULL,
  created_at DATETIME NOT NULL,
  PRIMARY KEY (coupon_id, user_id)
);
CREATE INDEX lottery_entrants_id ON lottery_entrants (id);

-- +goose Down
DROP TABLE lottery_entrants;
