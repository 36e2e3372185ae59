-- Comes before the scripts that make what may be empty and is not told to be lost by a mark of
-- the epoch: an older program made the queue with its first entry, the dead letters with the
-- first of them, and no mark in the index of ages. Each is asked for alone, and made once.
local function exist(queue, dead, ages)
  for _, stream in ipairs({queue, dead}) do
    if redis.call('EXISTS', stream) == 0 then redis.call('XGROUP', 'CREATE', stream, 'orders', '0', 'MKSTREAM') end
  end
  if not redis.call('ZSCORE', ages, 'mark') then redis.call('ZADD', ages, '+inf', 'mark') end
end

