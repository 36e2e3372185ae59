-- Comes before the scripts for many keys, which do what is plain: where a key is not as it mostly is,
-- they leave it, and the script for one key does all. On a Cluster the keys are of several slots,
-- for which a command that names many is refused: then there is one for each key.

-- column returns every step-th argument from the one at first.
local function column(first, step)
	local values = {}
	for i = first, #ARGV, step do
		values[#values + 1] = ARGV[i]
	end
	return values
end

-- read returns the values of keys: false where there is none or one of another type, and a table where
-- the key is on another node.
local function read(keys)
	local values = redis.pcall('MGET', unpack(keys))
	if values.err then
		values = {}
		for i, key in ipairs(keys) do
			values[i] = redis.pcall('GET', key)
		end
	end
	return values
end

-- owned reports whether a value is a lock of the token.
local function owned(value, token)
	return type(value) == 'string' and string.sub(value, 1, #token + 1) == token .. ' '
end

-- awaited returns 0 if a line is empty; there is one in fair mode alone.
local function awaited(line)
	return line == '' and 0 or redis.pcall('EXISTS', line)
end
