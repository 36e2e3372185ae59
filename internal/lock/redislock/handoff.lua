-- Gives a key from its holder to another caller of the same process, with the next fence of
-- count.lua, which comes before it. The mark of the waiters stays: they are not told.
-- KEYS: lock, fence counter of the bucket    ARGV: token, the next token, its lease in ms
-- Returns {1, fence, 1 if others wait}, {0} when the key is free, or {-1, remaining ms} when
-- another has it.
local value = redis.call('GET', KEYS[1])
if not value then
	return {0}
end
local waited = string.sub(value, -7) == ' waited' and 1 or 0
if string.sub(value, 1, #ARGV[2] + 1) == ARGV[2] .. ' ' then
	-- A repeat, after its reply was lost: the same grant.
	redis.call('PEXPIRE', KEYS[1], ARGV[3])
	return {1, string.match(value, '^%d+', #ARGV[2] + 2), waited}
end
if string.sub(value, 1, #ARGV[1] + 1) ~= ARGV[1] .. ' ' then
	return {-1, redis.call('PTTL', KEYS[1])}
end
local fence = count(KEYS[2])
redis.call('SET', KEYS[1], ARGV[2] .. ' ' .. fence .. (waited == 1 and ' waited' or ''), 'PX', ARGV[3])
return {1, fence, waited}
