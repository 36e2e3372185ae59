-- Comes before the scripts that note when something happened.
local now

-- clock returns the server's time in ms, as a text: the same one throughout a script.
local function clock()
  if not now then
    local time = redis.call('TIME')
    now = string.format('%d%03d', tonumber(time[1]), math.floor(tonumber(time[2]) / 1000))
  end
  return now
end
