-- Keeps which database Redis is loaded from, and when that was last recorded.
--
-- KEYS: owner   ARGV: how many milliseconds a record counts; and to set it, deployment,
--       server, mark
-- Returns deployment, server, mark and whether the record counts ("1"), each empty if
-- there is none. A mark of the same deployment never falls.
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local deployment, server, mark, at = unpack(redis.call('HMGET', KEYS[1], 'deployment', 'server', 'mark', 'at'))
if #ARGV > 1 then
  if deployment ~= ARGV[2] or tonumber(mark) < tonumber(ARGV[4]) then mark = ARGV[4] end
  deployment, server, at = ARGV[2], ARGV[3], string.format('%.0f', now)
  redis.call('HSET', KEYS[1], 'deployment', deployment, 'server', server, 'mark', mark, 'at', at)
end
local counts = at and now - tonumber(at) <= tonumber(ARGV[1])
return {deployment or '', server or '', mark or '', counts and '1' or ''}
