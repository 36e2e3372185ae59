-- Gives up a place in line; release.lua follows in the same script. If the key is
-- free, the next in line may have been waiting for no other.
-- KEYS: lock, line, places    ARGV: token, channel of the bucket
if redis.call('ZREM', KEYS[2], ARGV[1]) == 1 then
	redis.call('HDEL', KEYS[3], ARGV[1])
	local first = redis.call('ZRANGE', KEYS[2], 0, 0)[1]
	if first and redis.call('EXISTS', KEYS[1]) == 0 then
		redis.call('PUBLISH', ARGV[2], KEYS[1] .. ' ' .. first)
	end
end
