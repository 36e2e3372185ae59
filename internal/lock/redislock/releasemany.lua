-- Frees those of many keys that are the token's, and have no waiters.
-- KEYS: lock and line of the first
-- ARGV: token, then for each lock and line, which is '' but in fair mode
-- Gives for each 'freed', or '' if it was left.
local locks, lines, answers, freed = column(2, 2), column(3, 2), {}, {}
for i, value in ipairs(read(locks)) do
	answers[i] = ''
	if owned(value, ARGV[1]) and string.sub(value, -7) ~= ' waited' and awaited(lines[i]) == 0 then
		answers[i], freed[#freed + 1] = 'freed', locks[i]
	end
end
if #freed > 0 and type(redis.pcall('DEL', unpack(freed))) == 'table' then
	for _, lock in ipairs(freed) do
		redis.call('DEL', lock)
	end
end
return answers
