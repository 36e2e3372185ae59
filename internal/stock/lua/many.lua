-- Comes before the scripts for many: each command to Redis is sent once for all of them.

-- column returns every step-th argument from the one at first.
local function column(first, step)
  local values, n = {}, 0
  for i = first, #ARGV, step do
    n = n + 1
    values[n] = ARGV[i]
  end
  return values
end

-- read returns fields of a hash by their name; a field that is not there is false.
local function read(key, fields)
  if #fields == 0 then return {} end
  local values, found = {}, redis.call('HMGET', key, unpack(fields))
  for i = 1, #fields do values[fields[i]] = found[i] end
  return values
end

-- append adds two values to a list.
local function append(list, a, b)
  local n = #list
  list[n + 1] = a
  list[n + 2] = b
end

-- set writes fields of a hash, from a list of each and its value.
local function set(key, list)
  if #list > 0 then redis.call('HSET', key, unpack(list)) end
end
