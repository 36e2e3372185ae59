-- Takes a key without a fence, which stamp.lua adds, or says how long another still has it.
-- KEYS: lock
-- ARGV: token, lease in ms, more than 0 for a caller that waits
-- Answers {1, fence, which is 0 until it is added} or {0, remaining ms; negative when it never
-- ends}.
local value = redis.call('GET', KEYS[1])
if not value then
	redis.call('SET', KEYS[1], ARGV[1] .. ' 0', 'PX', ARGV[2])
	return {1, '0'}
end
if string.sub(value, 1, #ARGV[1] + 1) == ARGV[1] .. ' ' then
	redis.call('PEXPIRE', KEYS[1], ARGV[2])
	return {1, string.match(value, '^%d+', #ARGV[1] + 2)}
end
-- A waiter leaves a mark, which the release reports; it goes with the value.
if tonumber(ARGV[3]) > 0 and string.sub(value, -7) ~= ' waited' then
	redis.call('APPEND', KEYS[1], ' waited')
end
return {0, redis.call('PTTL', KEYS[1])}
