-- Counts one more fence, as acquire.lua does: max(last + 1, the server's clock in microseconds).
-- KEYS: fence counter of the bucket
-- Returns the fence.
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
if now > tonumber(redis.call('GET', KEYS[1]) or '0') then
	redis.call('SET', KEYS[1], string.format('%.0f', now))
else
	redis.call('INCR', KEYS[1])
end
return redis.call('GET', KEYS[1])
