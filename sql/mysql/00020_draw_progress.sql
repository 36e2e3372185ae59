-- How far a draw has come, and whether its tickets are in the archive. An instance of version 19 neither reads nor writes
-- the columns. It looks at all ranks in each pass, and its seckill archive deletes the row of the draw.

-- +goose Up
-- decided_ranks are the tickets, from the smallest rank on, that are decided. archived: their rows are deleted.
ALTER TABLE lottery_draws
  ADD COLUMN decided_ranks BIGINT  NOT NULL DEFAULT 0,
  ADD COLUMN archived      BOOLEAN NOT NULL DEFAULT FALSE;

-- +goose Down
