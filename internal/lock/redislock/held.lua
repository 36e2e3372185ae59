-- Begins a script that takes a key: answers if it is held, by the token itself or by another.
-- KEYS: lock
-- ARGV: token, lease in ms, more than 0 for a caller that waits
-- Answers {1, fence} or {0, remaining ms; negative when it never ends}, or goes on.
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
