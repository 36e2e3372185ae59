-- The leases of the lock that lives in the database. token is the holder, until
-- expires_at by the server's clock in UTC; fence is the holder's, and counter the
-- last number that was given or that the next must exceed. A row stays until
-- the clock, from which it counts, is long past it, so that its counter goes on.

-- +goose Up
CREATE TABLE lock_leases (
  name       VARBINARY(255)  NOT NULL,
  token      VARBINARY(64)   NOT NULL,
  counter    BIGINT UNSIGNED NOT NULL,
  fence      BIGINT UNSIGNED NOT NULL,
  expires_at DATETIME(6)     NOT NULL,
  PRIMARY KEY (name)
) ENGINE = InnoDB;

-- +goose Down
DROP TABLE lock_leases;
