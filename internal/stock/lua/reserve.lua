-- Takes one unit of this shard, the user's home shard, for a request.
--
-- KEYS: stock meta holds open buyers requests returned queue dead ages
-- ARGV: epoch, request, order (names this attempt), user, limit, borrow (1: when the
--       shard is empty, mark the buyer here, because a sibling will lend the unit),
--       entry (what goes into the queue with the hold; empty: nothing does), room,
--       wait (for how many ms an entry may wait; 0 without one)
-- Gives HELD <order> or MARKED <order>, each with its number in the queue and how many
--       have left that, if it is in one; or a refusal that has written nothing:
--       NOTLOADED, STALE, DUPLICATE <order>, BUSY, LIMIT, EMPTY, FULL.
--
-- A hold is kept under its order as one text: its kind (own; mark, of a buyer whose unit
-- is a sibling's; lent, at that sibling), the request, the user, since when in ms, the
-- attempts that share it (",1,2,"), and its number in the queue if it is in one. The
-- index ages has the orders by since, and those of queued holds by so much later as an
-- entry may wait: from then on a hold grows old.
--
-- Everything that can refuse comes before the first write, because a script that
-- fails half way is not rolled back; and the queue's entry is the last write, so that
-- there is none without its hold.
local stock, meta, holds, open, buyers = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local requests, queue, ages = KEYS[6], KEYS[8], KEYS[10]
local epoch, request, order, user, limit, borrow = ARGV[1], ARGV[2], ARGV[3], ARGV[4], tonumber(ARGV[5]), ARGV[6]
local entry, room, wait = ARGV[7], tonumber(ARGV[8]), tonumber(ARGV[9])

local function full() return entry ~= '' and redis.call('XLEN', queue) >= room end

local function list(id, since) redis.call('ZADD', ages, string.format('%.0f', tonumber(since) + wait), id) end

local function enqueue(id)
  if redis.call('EXISTS', queue) == 0 then redis.call('XGROUP', 'CREATE', queue, 'orders', '0', 'MKSTREAM') end
  redis.call('XADD', queue, '*', 'order', id, 'attempt', order, 'entry', entry)
end

local left = redis.call('GET', stock)
local current, served = unpack(redis.call('HMGET', meta, 'epoch', 'served'))
if not left or not current then return {'NOTLOADED'} end
if current ~= epoch then return {'STALE'} end

local known = redis.call('HGET', requests, request)
if known then
  local hold = redis.call('HGET', holds, known)
  if not hold then return {'DUPLICATE', known} end
  local kind, who, since, attempts, number = string.match(hold, '^(%a+) %S+ (%d+) (%d+) (%S+) ?(%d*)$')
  -- It has its entry, and one is enough.
  if entry ~= '' and number ~= '' and kind ~= 'mark' then return {'HELD', known, number, served or '0'} end
  if string.find(attempts, ',' .. order .. ',', 1, true) then
    return {kind == 'mark' and 'MARKED' or 'HELD', known}
  end
  -- Another attempt of the request is at a sibling: only it knows at which.
  if kind == 'mark' then return {'BUSY'} end
  if full() then return {'FULL'} end
  local text = {kind, request, who, since, attempts .. order .. ','}
  if entry ~= '' then number = tostring(redis.call('HINCRBY', meta, 'queued', 1)) end
  if number ~= '' then text[#text + 1] = number end
  redis.call('HSET', holds, known, table.concat(text, ' '))
  redis.call('HINCRBY', meta, 'ops', 1)
  if entry == '' then return {'HELD', known} end
  list(known, since)
  enqueue(known)
  return {'HELD', known, number, served or '0'}
end

local bought = tonumber(redis.call('HGET', buyers, user) or '0')
if bought >= limit then return {'LIMIT'} end
if bought + tonumber(redis.call('HGET', open, user) or '0') >= limit then return {'BUSY'} end
local kind = 'own'
if tonumber(left) <= 0 then
  if borrow ~= '1' then return {'EMPTY'} end
  kind = 'mark'
elseif full() then
  return {'FULL'}
end

local time = redis.call('TIME')
local since = string.format('%d%03d', tonumber(time[1]), math.floor(tonumber(time[2]) / 1000))
local text = {kind, request, user, since, ',' .. order .. ','}
if entry ~= '' then -- a mark has no entry here: it is in the queue of the shard that lends
  text[6] = kind == 'own' and tostring(redis.call('HINCRBY', meta, 'queued', 1)) or '0'
end
if kind == 'own' then redis.call('DECR', stock) end
redis.call('HSET', holds, order, table.concat(text, ' '))
list(order, since)
redis.call('HSET', requests, request, order)
redis.call('HINCRBY', open, user, 1)
redis.call('HINCRBY', meta, 'ops', 1)
if entry ~= '' and kind == 'own' then enqueue(order) end
return {kind == 'own' and 'HELD' or 'MARKED', order, text[6], text[6] and (served or '0')}
