-- Takes units of this shard for requests of users whose home it is, for one after the other.
--
-- KEYS: stock meta holds open buyers requests returned queue dead ages
-- ARGV: epoch, then for each: request, order (names this attempt), user, limit, borrow (1: when
--       the shard is empty, mark the buyer here, because a sibling will lend the unit), entry
--       (what goes into the queue with the hold; empty: nothing does), room, wait (for how many
--       ms an entry may wait; 0 without one)
-- Gives for each HELD <order> or MARKED <order>, with its number in the queue and how many
--       have left that, if it is in one; or a refusal that has written nothing of it:
--       NOTLOADED, STALE, DUPLICATE <order>, BUSY, LIMIT, EMPTY, FULL.
--
-- A hold is kept under its order as one text: its kind (own; mark, of a buyer whose unit
-- is a sibling's; lent, at that sibling), the request, the user, since when in ms, the
-- attempts that share it (",1,2,"), and its number in the queue if it is in one. The
-- index ages has the orders by since, and those of queued holds by so much later as an
-- entry may wait: from then on a hold grows old.
--
-- Everything that can refuse a request comes before the first write for it, because a script
-- that fails half way is not rolled back; and the queue's entry is the last write, so that
-- there is none without its hold.
local stock, meta, holds, open, buyers = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local requests, queue, ages = KEYS[6], KEYS[8], KEYS[10]
local epoch = ARGV[1]

local left = counter(stock)
local current, served = unpack(redis.call('HMGET', meta, 'epoch', 'served'))

local function full(entry, room) return entry ~= '' and redis.call('XLEN', queue) >= tonumber(room) end

-- held answers with the number in the queue, if there is one.
local function held(word, id, number)
  return word .. ' ' .. id .. (number and ' ' .. number .. ' ' .. (served or '0') or '')
end

local function list(id, since, wait)
  redis.call('ZADD', ages, string.format('%.0f', tonumber(since) + tonumber(wait)), id)
end

-- again answers a request that is known: another attempt shares its hold.
local function again(known, request, order, entry, room, wait)
  local hold = redis.call('HGET', holds, known)
  if not hold then return 'DUPLICATE ' .. known end
  local kind, who, since, attempts, number = string.match(hold, '^(%a+) %S+ (%d+) (%d+) (%S+) ?(%d*)$')
  -- It has its entry, and one is enough.
  if entry ~= '' and number ~= '' and kind ~= 'mark' then return held('HELD', known, number) end
  if string.find(attempts, ',' .. order .. ',', 1, true) then
    return held(kind == 'mark' and 'MARKED' or 'HELD', known)
  end
  -- Another attempt of the request is at a sibling: only it knows at which.
  if kind == 'mark' then return 'BUSY' end
  if full(entry, room) then return 'FULL' end
  local text = {kind, request, who, since, attempts .. order .. ','}
  if entry ~= '' then number = tostring(redis.call('HINCRBY', meta, 'queued', 1)) end
  if number ~= '' then text[#text + 1] = number end
  redis.call('HSET', holds, known, table.concat(text, ' '))
  redis.call('HINCRBY', meta, 'ops', 1)
  if entry == '' then return held('HELD', known) end
  list(known, since, wait)
  enqueue(queue, known, order, entry)
  return held('HELD', known, number)
end

local function reserve(request, order, user, limit, borrow, entry, room, wait)
  if not left or not current then return 'NOTLOADED' end
  if current ~= epoch then return 'STALE' end
  local known = redis.call('HGET', requests, request)
  if known then return again(known, request, order, entry, room, wait) end

  local bought = tonumber(redis.call('HGET', buyers, user) or '0')
  if bought >= tonumber(limit) then return 'LIMIT' end
  if bought + tonumber(redis.call('HGET', open, user) or '0') >= tonumber(limit) then return 'BUSY' end
  local kind = 'own'
  if left <= 0 then
    if borrow ~= '1' then return 'EMPTY' end
    kind = 'mark'
  elseif full(entry, room) then
    return 'FULL'
  end

  local time = redis.call('TIME')
  local since = string.format('%d%03d', tonumber(time[1]), math.floor(tonumber(time[2]) / 1000))
  local text = {kind, request, user, since, ',' .. order .. ','}
  if entry ~= '' then -- a mark has no entry here: it is in the queue of the shard that lends
    text[6] = kind == 'own' and tostring(redis.call('HINCRBY', meta, 'queued', 1)) or '0'
  end
  if kind == 'own' then left = redis.call('DECR', stock) end
  redis.call('HSET', holds, order, table.concat(text, ' '))
  list(order, since, wait)
  redis.call('HSET', requests, request, order)
  redis.call('HINCRBY', open, user, 1)
  redis.call('HINCRBY', meta, 'ops', 1)
  if entry ~= '' and kind == 'own' then enqueue(queue, order, order, entry) end
  return held(kind == 'own' and 'HELD' or 'MARKED', order, text[6])
end

local answers = {}
for i = 2, #ARGV, 8 do answers[#answers + 1] = reserve(unpack(ARGV, i, i + 7)) end
return answers
