-- A counter per lock key; sql/mysql says more.

-- +goose Up
CREATE TABLE lock_fences (
  name  TEXT    NOT NULL PRIMARY KEY,
  fence INTEGER NOT NULL
);

-- +goose Down
DROP TABLE lock_fences;
