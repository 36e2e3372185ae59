-- Reports whether the shard is open with the epoch, on the server that it was loaded on, and
-- makes what an older program left out.
--
-- KEYS: stock meta holds open buyers requests returned queue dead ages: as many as
-- clear.lua names, so that of a slot that is being moved both can be asked or none.
-- ARGV: epoch, deployment, which server this is if the caller has asked it (empty: the
--       script asks)
-- Returns YES, OTHER (another epoch, another deployment's, or too old a layout), CLOSED (no counter), LOST
-- (something that was loaded is gone, as by eviction), or MOVED (another server, or
-- the same one after a restart: its data may be older than what was last written) with the
-- server that it was loaded on, the masters that there were then, the server that it is on, and
-- of that the id of the replication that it has left and its age in seconds.
local current, of, here, masters, written = unpack(redis.call('HMGET', KEYS[2], 'epoch', 'of', 'server', 'masters', 'layout'))
local newer = unknown(written, true)
if newer then return newer end
if tonumber(written or '0') < oldest then return {'OTHER'} end
if current ~= ARGV[1] or of and of ~= ARGV[2] then return {'OTHER'} end
if not counter(KEYS[1]) then return {'CLOSED'} end
if of then -- otherwise an older program loaded it, which left no marks
  for i = 3, 6 do
    if redis.call('HEXISTS', KEYS[i], 'epoch') == 0 then return {'LOST'} end
  end
  if redis.call('SISMEMBER', KEYS[7], 'epoch') == 0 then return {'LOST'} end
end
local this = here
if not here or here ~= ARGV[3] then this = server() end
if here ~= this then
  local role, about = redis.pcall('INFO', 'replication'), redis.pcall('INFO', 'server')
  local left = type(role) == 'string' and string.match(role, 'master_replid2:(%w+)')
  local age = type(about) == 'string' and string.match(about, 'uptime_in_seconds:(%d+)')
  return {'MOVED', here or '', masters or '', this or '', left or '', age or '0'}
end
exist(KEYS[8], KEYS[9], KEYS[10])
return {'YES'}
