-- Gives this database's deployment its id, once.

-- +goose Up
INSERT INTO deployment (id) SELECT REPLACE(UUID(), '-', '') FROM (SELECT 1) AS one
  WHERE NOT EXISTS (SELECT 1 FROM deployment);

-- +goose Down
DELETE FROM deployment;
