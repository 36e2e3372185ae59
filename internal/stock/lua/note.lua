-- Notes how many live orders some users have, before the epoch opens, and how far the
-- loading as a whole has come. Noting twice is noting once, in any order.
--
-- KEYS: stock meta holds open buyers …
-- ARGV: epoch, deployment, the last buyer that every shard is known to have ("all": there
--       are no more), then user and count in turn
-- Returns OK, OPEN (the epoch is open, its buyers were noted before and may have bought
-- more since), OLDER if the shard has a newer epoch, or TORN if it has lost this one.
local current, of, noted, written = unpack(redis.call('HMGET', KEYS[2], 'epoch', 'of', 'noted', 'layout'))
local newer = unknown(written, true)
if newer then return newer end
if current and tonumber(current) > tonumber(ARGV[1]) then return {'OLDER'} end
if current ~= ARGV[1] or of ~= ARGV[2] then return {'TORN'} end
if counter(KEYS[1]) then return {'OPEN'} end
if #ARGV > 3 then redis.call('HSET', KEYS[5], unpack(ARGV, 4)) end
if noted ~= 'all' then redis.call('HSET', KEYS[2], 'noted', ARGV[3]) end
return {'OK'}
