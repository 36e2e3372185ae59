-- Takes requests from a client's bucket, also below zero.
-- KEYS: bucket    ARGV: requests, microseconds in which one comes back, requests at once
-- The bucket is the moment at which it is full again, in microseconds (the generic cell rate
-- algorithm), by the clock of Redis; a full bucket is no key. Returns what is left, as text.
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local full = tonumber(redis.call('GET', KEYS[1]) or now)
if full < now then
	full = now
end
full = full + ARGV[1] * ARGV[2]
redis.call('SET', KEYS[1], string.format('%.0f', full), 'PX', math.ceil((full - now) / 1000))
return string.format('%.3f', ARGV[3] - (full - now) / ARGV[2])
