-- The outbox goes with the orders: where they are partitioned by user_id, it can be.

-- +goose Up
ALTER TABLE stock_returns DROP PRIMARY KEY, ADD PRIMARY KEY (order_id, user_id);

-- +goose Down
ALTER TABLE stock_returns DROP PRIMARY KEY, ADD PRIMARY KEY (order_id);
