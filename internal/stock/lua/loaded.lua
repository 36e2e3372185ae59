-- Reports whether the shard is open with the epoch, on the server that it was loaded on.
--
-- KEYS: stock meta holds open buyers requests returned queue dead ages: as many as
-- clear.lua names, so that of a slot that is being moved both can be asked or none.
-- ARGV: epoch, deployment
-- Returns YES, OTHER (another epoch, or another deployment's), MOVED (another server, or
-- the same one after a restart: its data may be older than what was last written),
-- CLOSED (no counter) or LOST (something that was loaded is gone, as by eviction).
local current, of, here = unpack(redis.call('HMGET', KEYS[2], 'epoch', 'of', 'server'))
if current ~= ARGV[1] or of and of ~= ARGV[2] then return 'OTHER' end
if here ~= server() then return 'MOVED' end
if redis.call('EXISTS', KEYS[1]) == 0 then return 'CLOSED' end
if of then -- otherwise an older program loaded it, which left no marks
  for i = 3, 6 do
    if redis.call('HEXISTS', KEYS[i], 'epoch') == 0 then return 'LOST' end
  end
  if redis.call('SISMEMBER', KEYS[7], 'epoch') == 0 then return 'LOST' end
end
return 'YES'
