-- Frees a key on this node, if it is still the caller's.
-- KEYS: lock    ARGV: token
-- Answers {"kept"} if it was the caller's until now, {"free"}, or
-- {"other", remaining ms, the other's token}.
local owner = redis.call('GET', KEYS[1])
if not owner then
	return {'free'}
end
if owner ~= ARGV[1] then
	return {'other', redis.call('PTTL', KEYS[1]), owner}
end
redis.call('DEL', KEYS[1])
return {'kept'}
