-- Takes an entry out of the queue: what it asked for has ended.
--
-- KEYS: stock meta holds open buyers requests returned queue …   ARGV: epoch, entry
-- Gives OK, NONE (it is out already) or STALE.
local meta, queue = KEYS[2], KEYS[8]
if redis.call('HGET', meta, 'epoch') ~= ARGV[1] then return {'STALE'} end
redis.call('XACK', queue, 'orders', ARGV[2])
if redis.call('XDEL', queue, ARGV[2]) == 0 then return {'NONE'} end
redis.call('HINCRBY', meta, 'served', 1)
redis.call('HINCRBY', meta, 'ops', 1)
return {'OK'}
