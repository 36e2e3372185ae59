-- Makes holds history: their orders are committed. The requests stay known, so that
-- asking again finds the order.
--
-- KEYS: stock meta holds open buyers requests returned queue dead ages   ARGV: epoch, orders
-- Gives for each OK, NONE (no such hold, nothing written) or STALE.
local meta, holds, open, buyers, ages = KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[10]
local answers, orders = {}, column(2, 1)
local current, written = unpack(redis.call('HMGET', meta, 'epoch', 'layout'))
local newer = unknown(written)
if newer then return newer end
if current ~= ARGV[1] then
  for i in ipairs(orders) do answers[i] = 'STALE' end
  return answers
end

local hold, gone = read(holds, orders), {}
local closed, users = {}, {} -- how many holds of a user; a unit of a sibling is accounted there
for i, order in ipairs(orders) do
  answers[i] = 'NONE'
  if hold[order] then
    local kind, user = string.match(hold[order], '^(%a+) %S+ (%d+) ')
    if kind ~= 'lent' then
      if not closed[user] then users[#users + 1] = user end
      closed[user] = (closed[user] or 0) + 1
    end
    gone[#gone + 1], hold[order], answers[i] = order, false, 'OK'
  end
end
if #gone == 0 then return answers end

local opened, bought = read(open, users), read(buyers, users)
local none, opens, buys = {}, {}, {} -- none: users without an open hold
for user, n in pairs(closed) do
  append(buys, user, string.format('%d', (bought[user] or 0) + n))
  local left = (opened[user] or 0) - n
  if left > 0 then
    append(opens, user, string.format('%d', left))
  else
    none[#none + 1] = user
  end
end
redis.call('HDEL', holds, unpack(gone))
redis.call('ZREM', ages, unpack(gone))
if #none > 0 then redis.call('HDEL', open, unpack(none)) end
set(open, opens)
set(buyers, buys)
redis.call('HINCRBY', meta, 'ops', #gone)
return answers
