-- How far a draw has come, and whether its tickets are in the archive; sql/mysql says more.

-- +goose Up
ALTER TABLE lottery_draws ADD COLUMN decided_ranks BIGINT NOT NULL DEFAULT 0;
ALTER TABLE lottery_draws ADD COLUMN archived      BOOLEAN NOT NULL DEFAULT FALSE;

-- +goose Down
