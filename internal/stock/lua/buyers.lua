-- Notes how many live orders some users have, before the epoch opens.
--
-- KEYS: stock meta holds open buyers …   ARGV: epoch, then user and count in turn
-- Gives OK, or OLDER if the shard is not being loaded with this epoch.
if redis.call('HGET', KEYS[2], 'epoch') ~= ARGV[1] or redis.call('EXISTS', KEYS[1]) == 1 then return {'OLDER'} end
for i = 2, #ARGV, 2 do redis.call('HSET', KEYS[5], ARGV[i], ARGV[i + 1]) end
return {'OK'}
