-- Ends attempts' shares of holds; with the last share of one, or for all of them, the
-- unit goes back and the request is forgotten.
--
-- KEYS: stock meta holds open buyers requests returned queue dead ages
-- ARGV: epoch, then for each: order, attempt (0: all)
-- Gives for each OK <units left>, UNMARKED (it was the mark of a borrower: no unit came back),
-- SHARED (another attempt may still sell it), NONE, or STALE (also if there is no
-- counter: INCR would make one, and open a shard that is not loaded).
local stock, meta, holds, open, requests, ages = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[6], KEYS[10]
local current, written = unpack(redis.call('HMGET', meta, 'epoch', 'layout'))
local newer = unknown(written)
if newer then return newer end
local stale = current ~= ARGV[1] or not counter(stock)

local function release(order, attempt)
  if stale then return 'STALE' end
  local hold = redis.call('HGET', holds, order)
  if not hold then return 'NONE' end
  local kind, request, user, since, attempts, number = string.match(hold, '^(%a+) (%S+) (%d+) (%d+) (%S+)(.*)$')
  if attempt ~= '0' then
    local first, last = string.find(attempts, ',' .. attempt .. ',', 1, true)
    if not first then return 'NONE' end
    attempts = string.sub(attempts, 1, first) .. string.sub(attempts, last + 1)
    if attempts ~= ',' then
      redis.call('HSET', holds, order, table.concat({kind, request, user, since, attempts}, ' ') .. number)
      redis.call('HINCRBY', meta, 'ops', 1)
      return 'SHARED'
    end
  end

  redis.call('HDEL', holds, order)
  redis.call('ZREM', ages, order)
  redis.call('HDEL', requests, request)
  if kind ~= 'lent' then -- the buyer is accounted at home
    if redis.call('HINCRBY', open, user, -1) <= 0 then redis.call('HDEL', open, user) end
  end
  redis.call('HINCRBY', meta, 'ops', 1)
  if kind == 'mark' then return 'UNMARKED' end
  return 'OK ' .. redis.call('INCR', stock)
end

local answers = {}
for i = 2, #ARGV, 2 do answers[#answers + 1] = release(ARGV[i], ARGV[i + 1]) end
return answers
