-- Notes that the shard is loaded here: its slot was moved to this server with all of its data.
--
-- KEYS: stock meta holds open buyers requests returned queue dead ages
-- ARGV: epoch, deployment, the server that is noted, this server, the masters that there are
-- Returns OK, or OTHER if anything is not as it was seen.
local current, of, here = unpack(redis.call('HMGET', KEYS[2], 'epoch', 'of', 'server'))
if current ~= ARGV[1] or of ~= ARGV[2] or here ~= ARGV[3] or server() ~= ARGV[4] then return {'OTHER'} end
redis.call('HSET', KEYS[2], 'server', ARGV[4], 'masters', ARGV[5])
return {'OK'}
