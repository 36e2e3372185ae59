-- Makes the leases of those of many keys last longer that are the token's.
-- KEYS: lock of the first    ARGV: token, lease in ms, then the lock of each
-- Gives for each 'renewed', or '' if it was left.
local locks, answers = column(3, 1), {}
for i, value in ipairs(read(locks)) do
	answers[i] = owned(value, ARGV[1]) and redis.call('PEXPIRE', locks[i], ARGV[2]) == 1 and 'renewed' or ''
end
return answers
