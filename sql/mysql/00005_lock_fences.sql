-- A counter per lock key, for the locks that have no honest fence of their own. A
-- row stays until the server's clock, from which it counts, is long past it, because
-- what it counted may never be given again. Keys are compared byte by byte.

-- +goose Up
CREATE TABLE lock_fences (
  name  VARBINARY(255)  NOT NULL,
  fence BIGINT UNSIGNED NOT NULL,
  PRIMARY KEY (name)
) ENGINE = InnoDB;

-- +goose Down
DROP TABLE lock_fences;
