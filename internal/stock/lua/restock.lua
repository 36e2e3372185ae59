-- Puts the unit of an ended order back, once, on its buyer's home shard.
--
-- KEYS: stock meta holds open buyers requests returned
-- ARGV: epoch, order, user, for how many ms that user is refused from now on (0: not at all), and the channel and the
--       message that tell every instance that the user has a unit less
-- Returns OK <units left>, NONE (it is back already), CONTAINED (a newer epoch was
-- loaded with it) or NOTLOADED (the epoch is not there, or not there yet).
local stock, meta, buyers, returned = KEYS[1], KEYS[2], KEYS[5], KEYS[7]
local epoch, order, user = ARGV[1], ARGV[2], ARGV[3]

local current, written = unpack(redis.call('HMGET', meta, 'epoch', 'layout'))
local newer = unknown(written)
if newer then return newer end
if not current then return {'NOTLOADED'} end
if tonumber(current) > tonumber(epoch) then return {'CONTAINED'} end
if current ~= epoch or not counter(stock) then return {'NOTLOADED'} end
if redis.call('SISMEMBER', returned, order) == 1 then return {'NONE'} end

redis.call('SADD', returned, order)
local left = redis.call('INCR', stock)
local bought = redis.call('HGET', buyers, user)
if bought and tonumber(bought) > 1 then
  redis.call('HINCRBY', buyers, user, -1)
else
  redis.call('HDEL', buyers, user)
end
if ARGV[4] ~= '0' then
  redis.call('HSET', meta, 'cools', '1', 'cool:' .. user, string.format('%.0f', tonumber(clock()) + tonumber(ARGV[4])))
end
redis.call('HINCRBY', meta, 'ops', 1)
redis.pcall('PUBLISH', ARGV[5], ARGV[6]) -- if that fails, a refusal is too old for a moment, and nothing half done
return {'OK', tostring(left)}
