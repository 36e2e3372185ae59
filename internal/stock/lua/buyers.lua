-- Notes how many live orders some users have, before the epoch opens.
--
-- KEYS: stock meta holds open buyers …   ARGV: epoch, then user and count in turn
-- Gives OK, OPEN (the epoch is open, its buyers were noted before and may have bought
-- more since) or OLDER if the shard is not being loaded with this epoch.
if redis.call('HGET', KEYS[2], 'epoch') ~= ARGV[1] then return {'OLDER'} end
if redis.call('EXISTS', KEYS[1]) == 1 then return {'OPEN'} end
for i = 2, #ARGV, 2 do redis.call('HSET', KEYS[5], ARGV[i], ARGV[i + 1]) end
return {'OK'}
