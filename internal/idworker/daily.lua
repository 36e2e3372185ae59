-- Counts one more id of today, by the server's clock.
-- KEYS: the counter of the day that the caller takes for today
-- ARGV: epoch in seconds, days to keep, that day (yyyymmdd)
-- The counter is named, so that it is counted where it is while its slot is moved.
-- Answers {seconds since the epoch, today's count}, or {today} if that is another day.
local seconds = tonumber(redis.call('TIME')[1])
-- Days since 1970 to a date, in years that begin in March.
local days = math.floor(seconds / 86400) + 719468
local era = math.floor(days / 146097)
local doe = days - era * 146097
local yoe = math.floor((doe - math.floor(doe / 1460) + math.floor(doe / 36524) - math.floor(doe / 146096)) / 365)
local doy = doe - (365 * yoe + math.floor(yoe / 4) - math.floor(yoe / 100))
local mp = math.floor((5 * doy + 2) / 153)
local day = doy - math.floor((153 * mp + 2) / 5) + 1
local month = mp < 10 and mp + 3 or mp - 9
local year = yoe + era * 400 + (month <= 2 and 1 or 0)
local today = string.format('%04d%02d%02d', year, month, day)
if today ~= ARGV[3] then
	return {tonumber(today)}
end
local count = redis.call('INCR', KEYS[1])
if count == 1 then
	redis.call('EXPIRE', KEYS[1], ARGV[2] * 86400)
end
return {seconds - ARGV[1], count}
