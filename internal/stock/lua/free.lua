-- Drops all of a shard, unless it is of a later epoch than the given one or of another
-- deployment. What is unlinked is freed by another thread of the server.
--
-- KEYS: stock meta holds open buyers requests returned queue dead ages
-- ARGV: epoch, deployment
-- Returns OK, NEWER if the shard was loaded since, or OTHER if another deployment did that;
-- an older program did not note which.
local current, of = unpack(redis.call('HMGET', KEYS[2], 'epoch', 'of'))
if current and tonumber(current) > tonumber(ARGV[1]) then return {'NEWER'} end
if of and of ~= ARGV[2] then return {'OTHER'} end
for i = 1, #KEYS do redis.call('UNLINK', KEYS[i]) end
return {'OK'}
