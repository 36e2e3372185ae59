-- Takes those of many keys that are free, each with the next fence of its bucket's counter, as count.lua
-- would give it, but one that is its own among them: the clock may stand still in a script.
-- KEYS: lock, fence counter and line of the first
-- ARGV: token, lease in ms, then for each lock, fence counter and line, which is '' but in fair mode
-- Gives for each its fence, or '' if it was left.
local token, lease, locks, counters, lines = ARGV[1], ARGV[2], column(3, 3), column(4, 3), column(5, 3)
local time, last = redis.call('TIME'), read(counters)
local now = time[1] * 1000000 + time[2]
local fences, counted = {}, {}
for i, lock in ipairs(locks) do
	fences[i] = ''
	local before = tonumber(last[i] or '0')
	if before and awaited(lines[i]) == 0 then
		local fence = before <= now and string.format('%d', now + i) or count(counters[i])
		local set = redis.pcall('SET', lock, token .. ' ' .. fence, 'PX', lease, 'NX')
		if set and set.ok then
			fences[i], counted[counters[i]] = fence, fence
		end
	end
end

local flat = {}
for counter, fence in pairs(counted) do
	flat[#flat + 1] = counter
	flat[#flat + 1] = fence
end
if #flat > 0 and redis.pcall('MSET', unpack(flat)).err then
	for counter, fence in pairs(counted) do
		redis.call('SET', counter, fence)
	end
end
return fences
