-- Does for each of many keys what the script for one key does, whose text is the function
-- one, before this. What goes wrong with one of them is its own answer.
-- KEYS: the names of the first member, which lead to the node
-- ARGV: how many arguments are common to all, how many names and how many more arguments
-- each member has, and of how many names, from the first, the values are wanted; then the
-- common arguments; then names and arguments, member by member
-- Answers for each what one does, {-2} where its names are on another node and nothing
-- was done, or {-3, error}.
local common, names, own, wanted = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local fixed = 4
local keys, args, answers = {}, {}, {}
local ahead = {}
for at = fixed + common, #ARGV - 1, names + own do
	for i = 1, wanted do
		ahead[#ahead + 1] = ARGV[at + i]
	end
end
readAhead(ahead)
for i = 1, common do
	args[i] = ARGV[fixed + i]
end
for at = fixed + common, #ARGV - 1, names + own do
	for i = 1, names do
		keys[i] = ARGV[at + i]
	end
	for i = 1, own do
		args[common + i] = ARGV[at + names + i]
	end
	local answer = {-2}
	if here(keys[1]) then
		local ok
		keys.ahead = #answers -- so that no two members have the same fence
		ok, answer = pcall(one, keys, args)
		if not ok then
			answer = {-3, type(answer) == 'table' and answer.err or tostring(answer)}
		end
	end
	answers[#answers + 1] = answer
end
writeBehind()
return answers
