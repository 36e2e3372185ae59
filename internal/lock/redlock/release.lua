-- Frees a key on this node, if it is still the caller's.
-- KEYS: lock    ARGV: token, or token and number of the last question whose vote is
-- to be given back: a vote that was given to a later one stays
-- Answers {"kept"} if it was the caller's until now, {"free"}, or
-- {"other", remaining ms, the other's token}.
local value = redis.call('GET', KEYS[1])
if not value then
	return {'free'}
end
local owner, asked = string.match(value, '^(.*) (%d+)$')
owner = owner or value
if owner ~= ARGV[1] then
	return {'other', redis.call('PTTL', KEYS[1]), owner}
end
if ARGV[2] and tonumber(asked or '0') > tonumber(ARGV[2]) then
	return {'free'}
end
redis.call('DEL', KEYS[1])
return {'kept'}
