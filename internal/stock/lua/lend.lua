-- Takes one unit of this shard for a buyer whose home shard is empty.
--
-- KEYS: stock meta holds open buyers requests …   ARGV: epoch, request, order, user
-- Gives HELD <order>, or NOTLOADED, STALE, DUPLICATE <order>, EMPTY with nothing written.
local stock, meta, holds, requests = KEYS[1], KEYS[2], KEYS[3], KEYS[6]
local epoch, request, order, user = ARGV[1], ARGV[2], ARGV[3], ARGV[4]

local left = redis.call('GET', stock)
local current = redis.call('HGET', meta, 'epoch')
if not left or not current then return {'NOTLOADED'} end
if current ~= epoch then return {'STALE'} end
if redis.call('HEXISTS', holds, order) == 1 then return {'HELD', order} end
-- It is sold already: this call was longer on its way than its sender waited for it.
if redis.call('HGET', requests, request) == order then return {'DUPLICATE', order} end
if tonumber(left) <= 0 then return {'EMPTY'} end

local time = redis.call('TIME')
local since = string.format('%d%03d', tonumber(time[1]), math.floor(tonumber(time[2]) / 1000))
redis.call('DECR', stock)
redis.call('HSET', holds, order, table.concat({'lent', request, user, since, ',' .. order .. ','}, ' '))
redis.call('HSET', requests, request, order)
redis.call('HINCRBY', meta, 'ops', 1)
return {'HELD', order}
