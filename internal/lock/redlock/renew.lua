-- Makes a lease last longer on this node, if it is still the caller's. A node that
-- has no such key, because it restarted empty, is not given one.
-- KEYS: lock    ARGV: token, lease in ms
-- Answers {"kept"}, {"free"}, or {"other", remaining ms, the other's token}.
local value = redis.call('GET', KEYS[1])
if not value then
	return {'free'}
end
local owner = string.match(value, '^(.*) %d+$') or value
if owner ~= ARGV[1] then
	return {'other', redis.call('PTTL', KEYS[1]), owner}
end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return {'kept'}
