-- Takes a key on this node, or says who has it.
-- KEYS: lock    ARGV: token, lease in ms
-- Answers {"taken"}, {"kept"} if the token had it already, or
-- {"other", remaining ms; negative when it never ends, the other's token}.
local owner = redis.call('GET', KEYS[1])
if not owner then
	redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
	return {'taken'}
end
if owner == ARGV[1] then
	redis.call('PEXPIRE', KEYS[1], ARGV[2])
	return {'kept'}
end
return {'other', redis.call('PTTL', KEYS[1]), owner}
