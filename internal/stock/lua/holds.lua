-- Reads a page of the shard's holds, in the order in which they grow old. It costs as
-- much as the page, however many holds there are.
--
-- KEYS: stock meta holds open buyers requests returned queue dead ages
-- ARGV: how many are skipped, how many are read, age in ms (only those that are that
--       old; empty: all)
-- Returns epoch, now in ms, how many the index lacks, how many of it were read, then order
-- and hold in turn. What the index has and holds has not is taken out of it.
local holds, ages = KEYS[3], KEYS[10]
local skip, most = tonumber(ARGV[1]), tonumber(ARGV[2])
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)

local current, written = unpack(redis.call('HMGET', KEYS[2], 'epoch', 'layout'))
local newer = unknown(written)
if newer then return newer end

local orders
if ARGV[3] == '' then
  orders = redis.call('ZRANGE', ages, skip, skip + most - 1)
else
  local until_ = string.format('%.0f', now - tonumber(ARGV[3]))
  orders = redis.call('ZRANGEBYSCORE', ages, '-inf', until_, 'LIMIT', skip, most)
end
-- A field called epoch is the mark of the hash and no hold, and a member called mark that of the index, behind all others.
for i = #orders, 1, -1 do
  if orders[i] == 'mark' then table.remove(orders, i) end
end
local listed = redis.call('ZCARD', ages) - (redis.call('ZSCORE', ages, 'mark') and 1 or 0)
local lacks = redis.call('HLEN', holds) - redis.call('HEXISTS', holds, 'epoch') - listed
local answer = {current or '', string.format('%.0f', now), tostring(lacks), tostring(#orders)}
if #orders == 0 then return answer end
local texts = redis.call('HMGET', holds, unpack(orders))
for i, order in ipairs(orders) do
  if texts[i] then
    answer[#answer + 1] = order
    answer[#answer + 1] = texts[i]
  else
    redis.call('ZREM', ages, order)
  end
end
return answer
