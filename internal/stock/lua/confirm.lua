-- Makes holds history: their orders are committed. The requests stay known, so that
-- asking again finds the order.
--
-- KEYS: stock meta holds open buyers requests returned queue dead ages   ARGV: epoch, orders
-- Gives for each OK, NONE (no such hold, nothing written) or STALE.
local meta, holds, open, buyers, ages = KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[10]
local current = redis.call('HGET', meta, 'epoch')

local function confirm(order)
  if current ~= ARGV[1] then return 'STALE' end
  local hold = redis.call('HGET', holds, order)
  if not hold then return 'NONE' end
  local kind, user = string.match(hold, '^(%a+) %S+ (%d+) ')

  redis.call('HDEL', holds, order)
  redis.call('ZREM', ages, order)
  if kind ~= 'lent' then -- the buyer is accounted at home
    if redis.call('HINCRBY', open, user, -1) <= 0 then redis.call('HDEL', open, user) end
    redis.call('HINCRBY', buyers, user, 1)
  end
  redis.call('HINCRBY', meta, 'ops', 1)
  return 'OK'
end

local answers = {}
for i = 2, #ARGV do answers[#answers + 1] = confirm(ARGV[i]) end
return answers
