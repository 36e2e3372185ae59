-- Comes before the script for one key in a script for many, and stands there for Redis: what
-- was read once is not read again, and what can be written at the end for all keys at once
-- is written then. For the script for one key everything is as if it were alone.
local server, known, unwritten, deleted, clock = redis, {}, {}, {}, nil

-- settle writes what is to be written of a key, and forgets what was read.
local function settle(key)
	if unwritten[key] then
		server.call('SET', key, unwritten[key])
	elseif deleted[key] then
		server.call('DEL', key)
	end
	known[key], unwritten[key], deleted[key] = nil, nil, nil
end

local commands = {
	TIME = function()
		clock = clock or server.call('TIME')
		return clock
	end,
	GET = function(key)
		if known[key] == nil then
			known[key] = server.call('GET', key)
		end
		return known[key]
	end,
	SET = function(key, value, ...)
		if ... then -- it expires
			settle(key)
			server.call('SET', key, value, ...)
		else
			unwritten[key], deleted[key] = value, nil
		end
		known[key] = value
	end,
	DEL = function(key)
		known[key], unwritten[key], deleted[key] = false, nil, true
	end,
}

local redis = {call = function(command, key, ...)
	if commands[command] then
		return commands[command](key, ...)
	end
	settle(key)
	return server.call(command, key, ...)
end}
