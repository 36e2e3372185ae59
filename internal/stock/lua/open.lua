-- Opens the epoch on this shard with the units that it was begun with. Opening twice is
-- opening once.
--
-- KEYS: stock meta …   ARGV: epoch, deployment
-- Returns OK, OLDER if the shard has a newer epoch, or TORN if it does not have all buyers
-- of this one, here: it was lost after it had been loaded, or another server took its
-- place, or its counter is gone.
local meta = redis.call('HMGET', KEYS[2], 'epoch', 'of', 'server', 'units', 'noted', 'opened', 'layout')
local current, of, here, units, noted, opened, written = unpack(meta)
local newer = unknown(written, true)
if newer then return newer end
if current and tonumber(current) > tonumber(ARGV[1]) then return {'OLDER'} end
if current ~= ARGV[1] or of ~= ARGV[2] or here ~= server() or noted ~= 'all' then return {'TORN'} end
if opened then return {counter(KEYS[1]) and 'OK' or 'TORN'} end
redis.call('SET', KEYS[1], units)
redis.call('HSET', KEYS[2], 'opened', '1')
redis.call('HINCRBY', KEYS[2], 'ops', 1)
return {'OK'}
