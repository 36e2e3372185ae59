-- Lets orders be partitioned by user_id, as a larger database wants it: every unique
-- key of a partitioned table must contain the column that it is partitioned by.
--
-- A request belongs to one user, who is part of its id, so a request id is as unique
-- beside the user as alone. An order id is unique by how ids are made; the table now
-- refuses it twice to one user only, and the audit looks for it among several.

-- +goose Up
ALTER TABLE orders
  DROP PRIMARY KEY, ADD PRIMARY KEY (id, user_id),
  DROP KEY orders_request, ADD UNIQUE KEY orders_request (request_id, user_id);

-- +goose Down
ALTER TABLE orders
  DROP PRIMARY KEY, ADD PRIMARY KEY (id),
  DROP KEY orders_request, ADD UNIQUE KEY orders_request (request_id);
