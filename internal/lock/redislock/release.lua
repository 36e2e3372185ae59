-- Frees a key, if it is still the caller's, and wakes its waiters, if there are any:
-- a message costs a call, and on a Cluster goes to every node. Where they stand in line, it
-- is for the first alone.
-- KEYS: lock, and in fair mode the line    ARGV: token, channel of the bucket
-- Returns {1}, {0} when the key is free, or {-1, remaining ms} when another has.
local value = redis.call('GET', KEYS[1])
if not value then
	return {0}
end
if string.sub(value, 1, #ARGV[1] + 1) ~= ARGV[1] .. ' ' then
	return {-1, redis.call('PTTL', KEYS[1])}
end
redis.call('DEL', KEYS[1])
local first = KEYS[2] and redis.call('ZRANGE', KEYS[2], 0, 0)[1]
if first then
	redis.call('PUBLISH', ARGV[2], KEYS[1] .. ' ' .. first)
elseif string.sub(value, -7) == ' waited' then
	redis.call('PUBLISH', ARGV[2], KEYS[1])
end
return {1}
