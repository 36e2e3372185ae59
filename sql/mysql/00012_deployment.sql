-- Whose database this is, in one row. mark grows with every heartbeat: a database that
-- knows a smaller one than Redis was set back. server is the server that kept it then.

-- +goose Up
CREATE TABLE deployment (
  id     VARCHAR(64)  CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  mark   BIGINT       NOT NULL DEFAULT 0,
  server VARCHAR(255) NOT NULL DEFAULT '',
  PRIMARY KEY (id)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4;

-- +goose Down
DROP TABLE deployment;
