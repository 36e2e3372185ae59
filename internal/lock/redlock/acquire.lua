-- Takes a key on this node, or returns its holder.
-- KEYS: lock    ARGV: token, lease in ms, number of the question
-- Answers {"taken"}, {"kept"} if the token had it already, or
-- {"other", remaining ms; negative when it never ends, the other's token}.
local value = redis.call('GET', KEYS[1])
if not value then
	redis.call('SET', KEYS[1], ARGV[1] .. ' ' .. ARGV[3], 'PX', ARGV[2])
	return {'taken'}
end
local owner, asked = string.match(value, '^(.*) (%d+)$')
owner = owner or value
if owner ~= ARGV[1] then
	return {'other', redis.call('PTTL', KEYS[1]), owner}
end
if tonumber(asked or '0') < tonumber(ARGV[3]) then -- and not a question that comes late
	redis.call('SET', KEYS[1], ARGV[1] .. ' ' .. ARGV[3], 'PX', ARGV[2])
else
	redis.call('PEXPIRE', KEYS[1], ARGV[2])
end
return {'kept'}
