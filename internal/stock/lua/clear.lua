-- Begins an epoch on this shard: all of the older one is dropped, and the shard is
-- closed until open.lua, because it has no counter. The server notes which it is: what
-- is loaded here is not loaded on the one that takes its place, nor on the same one
-- after a restart. The embedded server cannot say, and lives as long as its data.
--
-- KEYS: stock meta holds open buyers requests returned queue dead   ARGV: epoch
-- The queue ends with its holds; dead letters stay for those who read them.
-- Gives OK, or OLDER if the shard has this epoch or a newer one.
local current = redis.call('HGET', KEYS[2], 'epoch')
if current and tonumber(current) >= tonumber(ARGV[1]) then return {'OLDER'} end
local info = redis.pcall('INFO', 'server')
local server = type(info) == 'string' and string.match(info, 'run_id:(%w+)') or ''
for i = 1, 8 do redis.call('UNLINK', KEYS[i]) end
redis.call('HSET', KEYS[2], 'epoch', ARGV[1], 'ops', 1, 'server', server)
return {'OK'}
