-- Takes a key, or says how long another still has it.
-- KEYS: lock, fence counter of the bucket
-- ARGV: token, lease in ms, more than 0 for a caller that waits
-- Answers {1, fence} or {0, remaining ms; negative when it never ends}.
local value = redis.call('GET', KEYS[1])
if value then
	if string.sub(value, 1, #ARGV[1] + 1) == ARGV[1] .. ' ' then
		-- A repeat, after its reply was lost: the same grant.
		redis.call('PEXPIRE', KEYS[1], ARGV[2])
		return {1, string.match(value, '^%d+', #ARGV[1] + 2)}
	end
	-- A waiter leaves a mark, which the release reports; it goes with the value.
	if tonumber(ARGV[3]) > 0 and string.sub(value, -7) ~= ' waited' then
		redis.call('APPEND', KEYS[1], ' waited')
	end
	return {0, redis.call('PTTL', KEYS[1])}
end
-- fence = max(last + 1, the server's clock in microseconds): it goes on growing
-- when the counter was lost with the data. Numbers here are doubles, exact below
-- 2^53; a counter that was raised beyond is read back as a string.
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2] + (KEYS.ahead or 0) -- the clock may stand still in a script
local fence
if now > tonumber(redis.call('GET', KEYS[2]) or '0') then
	fence = string.format('%.0f', now)
	redis.call('SET', KEYS[2], fence)
else
	redis.call('INCR', KEYS[2])
	fence = redis.call('GET', KEYS[2])
end
redis.call('SET', KEYS[1], ARGV[1] .. ' ' .. fence, 'PX', ARGV[2])
return {1, fence}
