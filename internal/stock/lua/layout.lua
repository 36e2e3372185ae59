-- Comes before the scripts that use what a shard keeps. The layout is the number of the way in which
-- it is kept: which keys there are, and how their texts are written. meta has that of the
-- program that loaded the shard; programs before there were numbers left none.
--
-- layout is what this program writes, oldest the oldest that it still works with.
local layout, oldest = 1, 0

-- unknown returns an error for a shard of a newer program, which this one must leave as it is.
local function unknown(found)
  if tonumber(found or '0') <= layout then return nil end
  return redis.error_reply('NEWERLAYOUT a newer version of the program has loaded the shard, with layout ' .. found ..
    '; this one knows ' .. layout .. ': run the newer one')
end

