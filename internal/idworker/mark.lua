-- Notes up to which moment a worker number may be used.
-- KEYS: hash of marks    ARGV: number, milliseconds, fence of the lease
-- A field is "<ms> <fence>". A holder that was replaced has a smaller fence and
-- writes nothing. Answers 1, or 0 when the caller was replaced.
local old = redis.call('HGET', KEYS[1], ARGV[1])
if old then
	-- Compared as decimal strings: exact also beyond 2^53.
	local fence = string.match(old, ' (%d+)$') or '0'
	if #fence > #ARGV[3] or (#fence == #ARGV[3] and fence > ARGV[3]) then
		return 0
	end
end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2] .. ' ' .. ARGV[3])
return 1
