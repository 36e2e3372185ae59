-- Puts holds into the index of ages that it lacks: an instance of an older program made
-- them, or Redis has lost the index.
--
-- KEYS: stock meta holds open buyers requests returned queue dead ages
-- ARGV: for how many ms an entry of the queue may wait, then the orders
-- Returns OK. A hold that cannot be read is listed too, and never grows old: the audit
-- tells of it.
local holds, ages = KEYS[3], KEYS[10]
redis.call('ZADD', ages, 'NX', '+inf', 'mark') -- so that it exists when there is no hold
for i = 2, #ARGV do
  local hold = redis.call('HGET', holds, ARGV[i])
  local since, number = string.match(hold or '', '^%a+ %S+ %d+ (%d+) %S+ ?(%d*)$')
  if since then
    local wait = number ~= '' and tonumber(ARGV[1]) or 0
    redis.call('ZADD', ages, 'NX', string.format('%.0f', tonumber(since) + wait), ARGV[i])
  elseif hold and ARGV[i] ~= 'epoch' then -- that is the mark of the hash
    redis.call('ZADD', ages, 'NX', '+inf', ARGV[i])
  end
end
return {'OK'}
