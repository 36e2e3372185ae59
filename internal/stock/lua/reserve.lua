-- Takes one unit of this shard, the user's home shard, for a request.
--
-- KEYS: stock meta holds open buyers requests returned
-- ARGV: epoch, request, order (names this attempt), user, limit, borrow (1: when the
--       shard is empty, mark the buyer here, because a sibling will lend the unit)
-- Gives HELD <order>, MARKED <order>, or a refusal that has written nothing:
--       NOTLOADED, STALE, DUPLICATE <order>, BUSY, LIMIT, EMPTY.
--
-- Everything that can refuse comes before the first write, because a script that
-- fails half way is not rolled back.
local stock, meta, holds, open, buyers, requests = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local epoch, request, order, user, limit, borrow = ARGV[1], ARGV[2], ARGV[3], ARGV[4], tonumber(ARGV[5]), ARGV[6]

local left = redis.call('GET', stock)
local current = redis.call('HGET', meta, 'epoch')
if not left or not current then return {'NOTLOADED'} end
if current ~= epoch then return {'STALE'} end

local known = redis.call('HGET', requests, request)
if known then
  local hold = redis.call('HGET', holds, known)
  if not hold then return {'DUPLICATE', known} end
  local kind, who, since, attempts = string.match(hold, '^(%a+) %S+ (%d+) (%d+) (%S+)$')
  if string.find(attempts, ',' .. order .. ',', 1, true) then
    return {kind == 'mark' and 'MARKED' or 'HELD', known}
  end
  -- Another attempt of the request is at a sibling: only it knows at which.
  if kind == 'mark' then return {'BUSY'} end
  redis.call('HSET', holds, known, table.concat({kind, request, who, since, attempts .. order .. ','}, ' '))
  redis.call('HINCRBY', meta, 'ops', 1)
  return {'HELD', known}
end

local bought = tonumber(redis.call('HGET', buyers, user) or '0')
if bought >= limit then return {'LIMIT'} end
if bought + tonumber(redis.call('HGET', open, user) or '0') >= limit then return {'BUSY'} end
local kind = 'own'
if tonumber(left) <= 0 then
  if borrow ~= '1' then return {'EMPTY'} end
  kind = 'mark'
end

local time = redis.call('TIME')
local since = string.format('%d%03d', tonumber(time[1]), math.floor(tonumber(time[2]) / 1000))
if kind == 'own' then redis.call('DECR', stock) end
redis.call('HSET', holds, order, table.concat({kind, request, user, since, ',' .. order .. ','}, ' '))
redis.call('HSET', requests, request, order)
redis.call('HINCRBY', open, user, 1)
redis.call('HINCRBY', meta, 'ops', 1)
return {kind == 'own' and 'HELD' or 'MARKED', order}
