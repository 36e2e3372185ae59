-- Refuses a caller whose turn it is not; otherwise held.lua, which follows in the
-- same script, goes on.
-- KEYS: lock, fence, line, places    ARGV: token, lease in ms, how long a place
-- lasts in ms, or 0 for a caller that does not wait and so gets none, and the longest
-- that any place lasts in ms
local line, places, token, lasts = KEYS[3], KEYS[4], ARGV[1], tonumber(ARGV[3])
local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]
local function leave(who)
	redis.call('ZREM', line, who)
	redis.call('HDEL', places, who)
end

-- A place that lasts longer than any can was given before the clock was set back.
local longest = tonumber(ARGV[4]) * 1000
local function shorten()
	for _, waiter in ipairs(redis.call('ZRANGE', line, 0, -1)) do
		if tonumber(redis.call('HGET', places, waiter) or '0') - now > longest then
			redis.call('HSET', places, waiter, string.format('%.0f', now + longest))
		end
	end
end

-- The first in line, after those whose places have run out.
local first, rest = redis.call('ZRANGE', line, 0, 0)[1], 0
while first and first ~= token do
	rest = tonumber(redis.call('HGET', places, first) or '0') - now
	if rest > longest then
		shorten()
		rest = longest
	end
	if rest > 0 then
		break
	end
	leave(first)
	first = redis.call('ZRANGE', line, 0, 0)[1]
end

local value = redis.call('GET', KEYS[1])
local ours = value and string.sub(value, 1, #token + 1) == token .. ' '
if ours or not value and (not first or first == token) then
	leave(token)
else
	if lasts > 0 then
		if not redis.call('ZSCORE', line, token) then
			-- A ticket is the server's time, and larger than the last one.
			local last = redis.call('ZRANGE', line, -1, -1, 'WITHSCORES')[2] or 0
			redis.call('ZADD', line, string.format('%.0f', math.max(now, last + 1)), token)
		end
		redis.call('HSET', places, token, string.format('%.0f', now + lasts * 1000))
		redis.call('PEXPIRE', line, lasts)
		redis.call('PEXPIRE', places, lasts)
	end
	if not value then
		return {0, math.ceil(rest / 1000)}
	end
end
