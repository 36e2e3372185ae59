-- Says whether the shard is open with the epoch, on the server that it was loaded on.
--
-- KEYS: stock meta …   ARGV: epoch
-- Gives YES, CLOSED (no counter), OTHER (another epoch) or MOVED (another server, or
-- the same one after a restart: its data may be older than what was last written).
if redis.call('HGET', KEYS[2], 'epoch') ~= ARGV[1] then return 'OTHER' end
if redis.call('EXISTS', KEYS[1]) == 0 then return 'CLOSED' end
local info = redis.pcall('INFO', 'server')
local server = type(info) == 'string' and string.match(info, 'run_id:(%w+)') or ''
if redis.call('HGET', KEYS[2], 'server') ~= server then return 'MOVED' end
return 'YES'
