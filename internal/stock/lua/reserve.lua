-- Takes units of this shard for requests of users whose home it is, for one after the other.
--
-- KEYS: stock meta holds open buyers requests returned queue dead ages
-- ARGV: epoch, limit (of a user), borrow (1: when the shard is empty, mark the buyer here, because
--       a sibling will lend the unit), room (of the queue), wait (for how many ms an entry
--       may wait; 0 without one), then for each: request, order (names this attempt), user, entry
--       (what goes into the queue with the hold; empty: nothing does)
-- Gives for each HELD <order> or MARKED <order>, with its number in the queue and how many
--       have left that, if it is in one; or a refusal that has written nothing of it:
--       NOTLOADED, STALE, DUPLICATE <order>, LIMIT, COOLING <ms that are left>, BUSY, EMPTY, FULL.
--
-- A hold is kept under its order as one text: its kind (own; mark, of a buyer whose unit
-- is a sibling's; lent, at that sibling), the request, the user, since when in ms, the
-- attempts that share it (",1,2,"), and its number in the queue if it is in one. The
-- index ages has the orders by since, and those of queued holds by so much later as an
-- entry may wait: from then on a hold grows old.
--
-- What is asked of Redis is asked once for all: first every read, then all decisions, then every
-- write. So everything that can refuse a request comes before the first write, because a script
-- that fails half way is not rolled back; and the queue's entries are the last writes, so that
-- there is none without its hold.
local stock, meta, holds, open, buyers = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local requests, queue, ages = KEYS[6], KEYS[8], KEYS[10]
local epoch, limit, borrow, room, wait = ARGV[1], tonumber(ARGV[2]), ARGV[3] == '1', tonumber(ARGV[4]), tonumber(ARGV[5])
local first, fields = 6, 4 -- of the requests
local users = column(first + 2, fields)

local left = counter(stock)
local current, served, queued, written, cools = unpack(redis.call('HMGET', meta, 'epoch', 'served', 'queued', 'layout', 'cools'))
local newer = unknown(written)
if newer then return newer end
local orderOf = read(requests, column(first, fields))
local bought, opened = read(buyers, users), read(open, users)

-- Until when buyers are refused who have given a unit back (restock.lua), if there are such buyers.
local cooling = {}
if cools then
  local until_ = {}
  for i, user in ipairs(users) do until_[i] = 'cool:' .. user end
  cooling = read(meta, until_)
end

-- What is to be written: lists of fields and values. What a later request of the same user, or the same request
-- again, must see of it is in orderOf, texts and opened.
local texts, holdsOf, listed, asked, opens, entries = {}, {}, {}, {}, {}, {}
local taken, ops = 0, 0

local length
local function full(entry)
  if entry == '' then return false end
  length = length or redis.call('XLEN', queue)
  return length + #entries >= room
end

-- enter puts an entry into the queue, and returns its number.
local function enter(id, order, entry)
  entries[#entries + 1] = {id, order, entry}
  return string.format('%d', tonumber(queued or '0') + #entries)
end

-- rest returns for how many ms a user is refused: 0 is not at all.
local function rest(user)
  local until_ = cooling['cool:' .. user]
  return until_ and math.max(0, tonumber(until_) - tonumber(clock())) or 0
end

local function list(id, since)
  append(listed, wait == 0 and since or string.format('%d', since + wait), id)
end

local function keep(id, text)
  texts[id] = text
  append(holdsOf, id, text)
end

-- held answers with the number in the queue, if there is one.
local function held(word, id, number)
  return word .. ' ' .. id .. (number and ' ' .. number .. ' ' .. (served or '0') or '')
end

-- again answers a request that is known: another attempt shares its hold.
local function again(known, request, order, entry)
  local hold = texts[known] or redis.call('HGET', holds, known)
  if not hold then return 'DUPLICATE ' .. known end
  local kind, who, since, attempts, number = string.match(hold, '^(%a+) %S+ (%d+) (%d+) (%S+) ?(%d*)$')
  -- It has its entry, and one is enough.
  if entry ~= '' and number ~= '' and kind ~= 'mark' then return held('HELD', known, number) end
  if string.find(attempts, ',' .. order .. ',', 1, true) then
    -- A sibling has lent the unit, and its entry may wait for longer than the mark was to stay.
    if kind == 'mark' and entry ~= '' and wait > 0 then
      list(known, since)
      ops = ops + 1
    end
    return held(kind == 'mark' and 'MARKED' or 'HELD', known)
  end
  -- Another attempt of the request is at a sibling: only it knows at which.
  if kind == 'mark' then return 'BUSY' end
  if full(entry) then return 'FULL' end
  local text = {kind, request, who, since, attempts .. order .. ','}
  if entry ~= '' then
    number = enter(known, order, entry)
    list(known, since)
  end
  if number ~= '' then text[6] = number end
  keep(known, table.concat(text, ' '))
  ops = ops + 1
  return held('HELD', known, entry ~= '' and number or nil)
end

local function reserve(request, order, user, entry)
  if not left or not current then return 'NOTLOADED' end
  if current ~= epoch then return 'STALE' end
  if orderOf[request] then return again(orderOf[request], request, order, entry) end

  local has, holding = tonumber(bought[user] or 0), tonumber(opened[user] or 0)
  if has >= limit then return 'LIMIT' end
  local waits = rest(user)
  if waits > 0 then return string.format('COOLING %.0f', waits) end
  if has + holding >= limit then return 'BUSY' end
  local kind = 'own'
  if left - taken <= 0 then
    if not borrow then return 'EMPTY' end
    kind = 'mark'
  elseif full(entry) then
    return 'FULL'
  end

  local number
  if entry ~= '' then -- a mark has no entry here: it is in the queue of the shard that lends
    number = kind == 'own' and enter(order, order, entry) or '0'
  end
  if kind == 'own' then taken = taken + 1 end
  keep(order, kind .. ' ' .. request .. ' ' .. user .. ' ' .. clock() .. ' ,' .. order .. ',' .. (number and ' ' .. number or ''))
  list(order, clock())
  orderOf[request], opened[user] = order, holding == 0 and '1' or string.format('%d', holding + 1)
  append(asked, request, order)
  append(opens, user, opened[user])
  ops = ops + 1
  return held(kind == 'own' and 'HELD' or 'MARKED', order, number)
end

local answers = {}
for i = first, #ARGV, fields do answers[#answers + 1] = reserve(ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3]) end
if ops == 0 then return answers end

if taken > 0 then redis.call('DECRBY', stock, taken) end
set(holds, holdsOf)
if #listed > 0 then redis.call('ZADD', ages, unpack(listed)) end
set(requests, asked)
set(open, opens)
local over = {} -- cooldowns of users who have bought since
for i = 1, #opens, 2 do
  local cool = 'cool:' .. opens[i]
  if cooling[cool] then over[#over + 1] = cool end
end
if #over > 0 then redis.call('HDEL', meta, unpack(over)) end
redis.call('HINCRBY', meta, 'ops', ops)
if #entries > 0 then redis.call('HINCRBY', meta, 'queued', #entries) end
for _, entry in ipairs(entries) do enqueue(queue, unpack(entry)) end
return answers
