-- Reads what a shard has in all, at one moment.
--
-- KEYS: stock meta holds open buyers requests returned queue dead ages
-- Returns epoch, ops, stock (each empty if it is not there), how many holds, requests and buyers
-- there are, and by how many units it was raised since the epoch began. ops grows with every write, so that two readings with the same
-- ops mean that nothing happened between them. A field called epoch is the mark of a hash
-- and no entry of it.
local function entries(key) return tostring(redis.call('HLEN', key) - redis.call('HEXISTS', key, 'epoch')) end

return {
  redis.call('HGET', KEYS[2], 'epoch') or '',
  redis.call('HGET', KEYS[2], 'ops') or '',
  tostring(counter(KEYS[1]) or ''),
  entries(KEYS[3]),
  entries(KEYS[6]),
  entries(KEYS[5]),
  redis.call('HGET', KEYS[2], 'raised') or '',
}
