-- The largest fence that a user's orders were written under; sql/mysql says more.

-- +goose Up
CREATE TABLE fences (
  user_id INTEGER NOT NULL PRIMARY KEY,
  fence   INTEGER NOT NULL
);

-- +goose Down
DROP TABLE fences;
