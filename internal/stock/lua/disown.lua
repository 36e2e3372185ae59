-- Frees this Redis for another database at once, unless other instances go on: they own it for as long as their
-- heartbeats count.
--
-- KEYS: owner instances
-- ARGV: name of the instance that stops, how many milliseconds a report of an instance counts
-- Returns OK, or OTHERS if other instances have reported within that time.
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
redis.call('HDEL', KEYS[2], ARGV[1])
for _, report in ipairs(redis.call('HVALS', KEYS[2])) do
  local at = string.match(report, '^(%d+) ')
  if at and now - tonumber(at) <= tonumber(ARGV[2]) then return {'OTHERS'} end
end
redis.call('HSET', KEYS[1], 'at', 0)
return {'OK'}
