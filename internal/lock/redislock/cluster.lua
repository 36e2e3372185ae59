-- The end of shared.lua on a Cluster, where the keys of a command must be of one slot.
local function here(key) return type(server.pcall('EXISTS', key)) == 'number' end

local function readAhead() end -- each is read by itself

-- writeBehind writes what is left to write.
local function writeBehind()
	for key, value in pairs(unwritten) do
		server.call('SET', key, value)
	end
	for key in pairs(deleted) do
		server.call('DEL', key)
	end
end
