-- Comes before the scripts for many: each command to Redis is sent once for all of them.

-- column returns every step-th argument from the one at first.
local function column(first, step)
  local values = {}
  for i = first, #ARGV, step do values[#values + 1] = ARGV[i] end
  return values
end

-- read returns fields of a hash by their name; a field that is not there is false.
local function read(key, fields)
  if #fields == 0 then return {} end
  local values = {}
  for i, value in ipairs(redis.call('HMGET', key, unpack(fields))) do values[fields[i]] = value end
  return values
end

-- write sets fields of a hash.
local function write(key, values)
  local flat = {}
  for field, value in pairs(values) do
    flat[#flat + 1] = field
    flat[#flat + 1] = value
  end
  if #flat > 0 then redis.call('HSET', key, unpack(flat)) end
end

