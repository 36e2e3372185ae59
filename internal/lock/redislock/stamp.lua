-- Adds the fence to a key that take.lua took, if it is still the caller's.
-- KEYS: lock    ARGV: token, lease in ms, fence
-- Answers {1, fence} or {0, remaining ms}, which is 0 if the key is free.
local value = redis.call('GET', KEYS[1])
if not value then
	return {0, 0}
end
local own = ARGV[1] .. ' 0'
if value == own or value == own .. ' waited' then
	redis.call('SET', KEYS[1], ARGV[1] .. ' ' .. ARGV[3] .. string.sub(value, #own + 1), 'PX', ARGV[2])
	return {1, ARGV[3]}
end
if string.sub(value, 1, #ARGV[1] + 1) == ARGV[1] .. ' ' then
	return {1, string.match(value, '^%d+', #ARGV[1] + 2)} -- a repeat of this step was first
end
return {0, redis.call('PTTL', KEYS[1])}
