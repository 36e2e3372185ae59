-- count returns the next fence of a counter: max(last + 1, the server's clock in microseconds). It
-- goes on growing when the counter was lost with the data. Numbers here are doubles, exact
-- below 2^53; a counter that was raised beyond is read back as a string.
local function count(counter)
	local time = redis.call('TIME')
	local now = time[1] * 1000000 + time[2]
	if now > tonumber(redis.call('GET', counter) or '0') then
		local fence = string.format('%d', now)
		redis.call('SET', counter, fence)
		return fence
	end
	redis.call('INCR', counter)
	return redis.call('GET', counter)
end
