-- Takes entries out of the queue: what they asked for has ended.
--
-- KEYS: stock meta holds open buyers requests returned queue …   ARGV: epoch, entries
-- Returns for each OK, NONE (it is out already) or STALE.
local meta, queue = KEYS[2], KEYS[8]
local current, written = unpack(redis.call('HMGET', meta, 'epoch', 'layout'))
local newer = unknown(written)
if newer then return newer end

local function acknowledge(entry)
  if current ~= ARGV[1] then return 'STALE' end
  redis.call('XACK', queue, 'orders', entry)
  if redis.call('XDEL', queue, entry) == 0 then return 'NONE' end
  redis.call('HINCRBY', meta, 'served', 1)
  redis.call('HINCRBY', meta, 'ops', 1)
  return 'OK'
end

local answers = {}
for i = 2, #ARGV do answers[#answers + 1] = acknowledge(ARGV[i]) end
return answers
