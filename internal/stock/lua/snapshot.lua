-- Reads the whole shard at one moment.
--
-- KEYS: stock meta holds …
-- Gives epoch, ops, stock (each empty if it is not there), now in milliseconds, then
-- order and hold in turn. ops grows with every write, so that two snapshots with the
-- same ops say that nothing happened between them.
local time = redis.call('TIME')
local answer = {
  redis.call('HGET', KEYS[2], 'epoch') or '',
  redis.call('HGET', KEYS[2], 'ops') or '',
  redis.call('GET', KEYS[1]) or '',
  string.format('%d%03d', tonumber(time[1]), math.floor(tonumber(time[2]) / 1000)),
}
for _, part in ipairs(redis.call('HGETALL', KEYS[3])) do answer[#answer + 1] = part end
return answer
