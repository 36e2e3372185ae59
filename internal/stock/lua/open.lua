-- Opens the epoch on this shard with its units. Opening twice is opening once.
--
-- KEYS: stock meta …   ARGV: epoch, units
-- Gives OK, or OLDER if the shard is not being loaded with this epoch, here: one that
-- another server began may lack some of its buyers.
if redis.call('HGET', KEYS[2], 'epoch') ~= ARGV[1] then return {'OLDER'} end
local info = redis.pcall('INFO', 'server')
local server = type(info) == 'string' and string.match(info, 'run_id:(%w+)') or ''
if redis.call('HGET', KEYS[2], 'server') ~= server then return {'OLDER'} end
if redis.call('SETNX', KEYS[1], ARGV[2]) == 1 then redis.call('HINCRBY', KEYS[2], 'ops', 1) end
return {'OK'}
