-- Whose database this is; sql/mysql says more.

-- +goose Up
CREATE TABLE deployment (
  id     TEXT    NOT NULL PRIMARY KEY,
  mark   INTEGER NOT NULL DEFAULT 0,
  server TEXT    NOT NULL DEFAULT ''
);

-- +goose Down
DROP TABLE deployment;
