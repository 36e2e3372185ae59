-- The largest fence that a user's orders were written under. A holder of the lock
-- with a smaller one has lost it to somebody and may not write.

-- +goose Up
CREATE TABLE fences (
  user_id BIGINT          NOT NULL,
  fence   BIGINT UNSIGNED NOT NULL,
  PRIMARY KEY (user_id)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4;

-- +goose Down
DROP TABLE fences;
