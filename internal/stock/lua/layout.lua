-- Comes before the scripts that use what a shard keeps. The layout is the number of the way in which
-- it is kept: which keys there are, and how their texts are written. meta has that of the
-- program that loaded the shard; programs before there were numbers left none.
--
-- newest is the newest that this program works with, oldest the oldest. Layouts 1 and 2 are the same. This program
-- writes 1; the version before wrote 2 for coupons whose units were in several database rows.
local newest, oldest = 2, 0

-- unknown returns an error for a shard that this program must leave as it is: one of a newer program, and, unless
-- it is there to load the shard, one of a program too old.
local function unknown(found, loads)
  local number = tonumber(found or '0')
  if number > newest then
    return redis.error_reply('NEWERLAYOUT a newer version of the program has loaded the shard, with layout ' .. found ..
      '; this one knows ' .. newest .. ': run the newer one')
  end
  if number < oldest and not loads then
    return redis.error_reply('OLDERLAYOUT the shard has layout ' .. number .. ', this program knows ' .. oldest .. ' and later: it will be loaded again')
  end
  return nil
end
