-- Makes a lease last longer, if it is still the caller's.
-- KEYS: lock    ARGV: token, lease in ms
-- Returns {1}, {0} when the key is free, or {-1, remaining ms} when another has.
local value = redis.call('GET', KEYS[1])
if not value then
	return {0}
end
if string.sub(value, 1, #ARGV[1] + 1) ~= ARGV[1] .. ' ' then
	return {-1, redis.call('PTTL', KEYS[1])}
end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return {1}
