-- Begins an epoch on this shard: all of the older one is dropped, and the shard is
-- closed until open.lua, because it has no counter.
--
-- KEYS: stock meta holds open buyers requests returned   ARGV: epoch
-- Gives OK, or OLDER if the shard has this epoch or a newer one.
local current = redis.call('HGET', KEYS[2], 'epoch')
if current and tonumber(current) >= tonumber(ARGV[1]) then return {'OLDER'} end
for _, key in ipairs(KEYS) do redis.call('UNLINK', key) end
redis.call('HSET', KEYS[2], 'epoch', ARGV[1], 'ops', 1)
return {'OK'}
