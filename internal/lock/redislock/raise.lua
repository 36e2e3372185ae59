-- Lifts a fence counter to a number that the database has seen; never lowers it.
-- KEYS: fence counter    ARGV: the number
-- Compared as decimal strings, because Lua's numbers are exact only below 2^53.
local last = redis.call('GET', KEYS[1]) or '0'
if #last < #ARGV[1] or (#last == #ARGV[1] and last < ARGV[1]) then
	redis.call('SET', KEYS[1], ARGV[1])
end
return 1
