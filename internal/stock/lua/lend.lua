-- Takes one unit of this shard for a buyer whose home shard is empty.
--
-- KEYS: stock meta holds open buyers requests returned queue dead ages
-- ARGV: epoch, request, order, user, entry (for this shard's queue; empty: none), room, wait
-- Returns HELD <order>, with its number in the queue and how many have left that, if it
--       is in it; or a refusal that has written nothing: NOTLOADED, STALE,
--       DUPLICATE <order>, EMPTY, FULL.
--
-- The entry stands where the unit is from: there hold and entry are one step.
local stock, meta, holds, requests, queue, ages = KEYS[1], KEYS[2], KEYS[3], KEYS[6], KEYS[8], KEYS[10]
local epoch, request, order, user, entry = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local room, wait = tonumber(ARGV[6]), tonumber(ARGV[7])

local left = counter(stock)
local current, served, written = unpack(redis.call('HMGET', meta, 'epoch', 'served', 'layout'))
local newer = unknown(written)
if newer then return newer end
if not left or not current then return {'NOTLOADED'} end
if current ~= epoch then return {'STALE'} end
local hold = redis.call('HGET', holds, order)
if hold then
  local number = string.match(hold, '^%a+ %S+ %d+ %d+ %S+ (%d+)$')
  return {'HELD', order, number, number and (served or '0')}
end
-- It is sold already: this call was longer on its way than its sender waited for it.
if redis.call('HGET', requests, request) == order then return {'DUPLICATE', order} end
if left <= 0 then return {'EMPTY'} end
if entry ~= '' and redis.call('XLEN', queue) >= room then return {'FULL'} end

local since = clock()
local text = {'lent', request, user, since, ',' .. order .. ','}
if entry ~= '' then text[6] = tostring(redis.call('HINCRBY', meta, 'queued', 1)) end
redis.call('DECR', stock)
redis.call('HSET', holds, order, table.concat(text, ' '))
redis.call('ZADD', ages, string.format('%.0f', tonumber(since) + wait), order)
redis.call('HSET', requests, request, order)
redis.call('HINCRBY', meta, 'ops', 1)
if entry ~= '' then
  enqueue(queue, order, order, entry)
end
return {'HELD', order, text[6], text[6] and (served or '0')}
