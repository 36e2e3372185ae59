-- How far a draw has come, and whether its tickets are in the archive. An instance of version 19 neither reads nor writes
-- the columns. It looks at all ranks in each pass, and its seckill archive deletes the row of the draw.

-- +goose Up
ALTER TABLE lottery_draws
  ADD COLUMN decided_ranks BIGINT  NOT NULL DEFAULT 0,     -- tickets, from the smallest rank on, that are decided
  ADD COLUMN archived      BOOLEAN NOT NULL DEFAULT FALSE; -- seckill archive deletes the tickets

-- +goose Down
