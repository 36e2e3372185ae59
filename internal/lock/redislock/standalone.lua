-- The end of shared.lua on one server, where a command may name many keys.
local function here() return true end

-- readAhead reads the values of keys at once. MGET has none for a key of another type, of
-- which the script for one key is told an error: then each is read by itself.
local function readAhead(keys)
	local values, there = server.call('MGET', unpack(keys)), 0
	for i = 1, #keys do
		there = there + (values[i] and 1 or 0)
	end
	if there == server.call('EXISTS', unpack(keys)) then
		for i, key in ipairs(keys) do
			known[key] = values[i]
		end
	end
end

-- writeBehind writes what is left to write.
local function writeBehind()
	local pairsOf, gone = {}, {}
	for key, value in pairs(unwritten) do
		pairsOf[#pairsOf + 1] = key
		pairsOf[#pairsOf + 1] = value
	end
	for key in pairs(deleted) do
		gone[#gone + 1] = key
	end
	if #pairsOf > 0 then
		server.call('MSET', unpack(pairsOf))
	end
	if #gone > 0 then
		server.call('DEL', unpack(gone))
	end
end
