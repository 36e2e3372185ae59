-- Frees a key, if it is still the caller's, and wakes those who wait for it.
-- KEYS: lock    ARGV: token, channel of the bucket
-- Answers {1}, {0} when nobody has the key, or {-1, remaining ms} when another has.
local value = redis.call('GET', KEYS[1])
if not value then
	return {0}
end
if string.sub(value, 1, #ARGV[1] + 1) ~= ARGV[1] .. ' ' then
	return {-1, redis.call('PTTL', KEYS[1])}
end
redis.call('DEL', KEYS[1])
redis.call('PUBLISH', ARGV[2], KEYS[1])
return {1}
