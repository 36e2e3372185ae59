-- Gives this database's deployment its id, once.

-- +goose Up
INSERT INTO deployment (id) SELECT lower(hex(randomblob(16))) WHERE NOT EXISTS (SELECT 1 FROM deployment);

-- +goose Down
DELETE FROM deployment;
