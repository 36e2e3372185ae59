-- Moves an entry from the queue to the dead letters, which people read: no worker
-- tries it again. The oldest ones make room.
--
-- KEYS: stock meta holds open buyers requests returned queue dead
-- ARGV: epoch, entry, why, how many dead letters are kept
-- Returns OK, NONE (it is out already) or STALE.
local meta, queue, dead = KEYS[2], KEYS[8], KEYS[9]
local current, written = unpack(redis.call('HMGET', meta, 'epoch', 'layout'))
local newer = unknown(written)
if newer then return newer end
if current ~= ARGV[1] then return {'STALE'} end
local found = redis.call('XRANGE', queue, ARGV[2], ARGV[2])
redis.call('XACK', queue, 'orders', ARGV[2])
if #found == 0 then return {'NONE'} end
local letter = {'why', ARGV[3]}
for _, part in ipairs(found[1][2]) do letter[#letter + 1] = part end
redis.call('XADD', dead, 'MAXLEN', '~', ARGV[4], '*', unpack(letter))
redis.call('XDEL', queue, ARGV[2])
redis.call('HINCRBY', meta, 'served', 1)
redis.call('HINCRBY', meta, 'ops', 1)
return {'OK'}
