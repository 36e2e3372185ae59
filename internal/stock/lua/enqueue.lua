-- Comes before the scripts that put an entry into the queue, which exists: clear.lua made it, with
-- its consumer group. It is made again if an older program loaded the shard, or it was lost.
local function enqueue(queue, id, attempt, entry)
  if redis.call('XADD', queue, 'NOMKSTREAM', '*', 'order', id, 'attempt', attempt, 'entry', entry) then return end
  redis.call('XGROUP', 'CREATE', queue, 'orders', '0', 'MKSTREAM')
  redis.call('XADD', queue, '*', 'order', id, 'attempt', attempt, 'entry', entry)
end

