-- Begins an epoch on this shard: all of the older one is dropped, and the shard is
-- closed until open.lua, because its counter is no number. The server notes which it is: what
-- is loaded here is not loaded on the one that takes its place.
--
-- KEYS: stock meta holds open buyers requests returned queue dead ages
-- ARGV: epoch, deployment whose database it is loaded from, units that it opens with, the
--       masters of the Cluster (their ids with commas between; empty: there is but one server),
--       the layout to write
-- The queue ends with its holds; dead letters stay for their readers. All keys exist from now
-- on, also what may be empty: it gets a mark, and Redis keeps streams that are empty. A mark
-- "epoch" that is missing tells that something was lost. The index of ages has another mark,
-- because it is made again from the holds (list.lua).
-- Returns OK and a number below all buyers; BEGUN <noted> if the epoch was begun here before, with the last buyer that
--       all shards are known to have, or "all" (note.lua); OLDER if the shard has a newer
--       epoch; BLIND if the server does not say which it is; or ELSEWHERE: the slot is being moved
--       and new keys belong to the other server, so that all of the older epoch is gone here and
--       the new one can be begun there, once its keys exist.
local nobody = '-9223372036854775808' -- no buyer's id is below it
local current, of, noted, here, written = unpack(redis.call('HMGET', KEYS[2], 'epoch', 'of', 'noted', 'server', 'layout'))
local newer = unknown(written, true)
if newer then return newer end
local this = server()
if not this then return {'BLIND'} end
if current and tonumber(current) > tonumber(ARGV[1]) then return {'OLDER'} end
if current == ARGV[1] and of == ARGV[2] and here == this and tonumber(written or '0') >= oldest then return {'BEGUN', noted} end
-- A key that does not exist is refused if it were another server's to make.
if type(redis.pcall('EXISTS', KEYS[2] .. ':none')) ~= 'number' then
  for i = 1, #KEYS do redis.call('UNLINK', KEYS[i]) end
  return {'ELSEWHERE'}
end
for i = 1, 8 do redis.call('UNLINK', KEYS[i]) end
redis.call('UNLINK', KEYS[10])
redis.call('SET', KEYS[1], 'closed')
redis.call('HSET', KEYS[2], 'epoch', ARGV[1], 'of', ARGV[2], 'ops', 1, 'server', this, 'units', ARGV[3], 'noted', nobody, 'masters', ARGV[4],
  'layout', ARGV[5])
for i = 3, 6 do redis.call('HSET', KEYS[i], 'epoch', ARGV[1]) end
redis.call('SADD', KEYS[7], 'epoch')
exist(KEYS[8], KEYS[9], KEYS[10])
return {'OK', nobody}
