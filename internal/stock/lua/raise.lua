-- Adds units to an open shard. The argument is how many were added in all since the epoch began, so
-- that two calls, in whatever order, add what the larger one names.
--
-- KEYS: stock meta   ARGV: epoch, units that this shard was raised by since its epoch began
-- Returns OK <units added by this call>, or NOTLOADED: the shard is closed, or has another epoch.
local current, raised, written = unpack(redis.call('HMGET', KEYS[2], 'epoch', 'raised', 'layout'))
local newer = unknown(written)
if newer then return newer end
if current ~= ARGV[1] or not counter(KEYS[1]) then return {'NOTLOADED'} end
local added = tonumber(ARGV[2]) - tonumber(raised or '0')
if added <= 0 then return {'OK', '0'} end
redis.call('HSET', KEYS[2], 'raised', ARGV[2])
redis.call('INCRBY', KEYS[1], added)
redis.call('HINCRBY', KEYS[2], 'ops', 1)
return {'OK', string.format('%d', added)}
