-- Records that an instance is alive and which coupons it has as sold out, and returns what
-- the others recorded.
--
-- KEYS: instances
-- ARGV: name of the instance, its coupons (ids with commas between), how many
--       milliseconds a record counts
-- Returns name and coupons in turn, of every instance that has reported within that time.
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
redis.call('HSET', KEYS[1], ARGV[1], string.format('%.0f %s', now, ARGV[2]))
local all = redis.call('HGETALL', KEYS[1])
local answer = {}
for i = 1, #all, 2 do
  local at, coupons = string.match(all[i + 1], '^(%d+) (.*)$')
  if now - tonumber(at) > tonumber(ARGV[3]) then
    redis.call('HDEL', KEYS[1], all[i])
  else
    answer[#answer + 1] = all[i]
    answer[#answer + 1] = coupons
  end
end
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return answer
