-- The leases of the lock that lives in MySQL; sql/mysql says more. On SQLite nobody
-- uses them: the table is here so that both schemas have the same number.

-- +goose Up
CREATE TABLE lock_leases (
  name       TEXT     NOT NULL PRIMARY KEY,
  token      TEXT     NOT NULL,
  counter    INTEGER  NOT NULL,
  fence      INTEGER  NOT NULL,
  expires_at DATETIME NOT NULL
);

-- +goose Down
DROP TABLE lock_leases;
