-- Takes a key that held.lua has found free, without a fence, which stamp.lua adds.
-- KEYS: lock
-- ARGV: token, lease in ms, more than 0 for a caller that waits
-- Answers {1, fence, which is 0 until it is added}.
redis.call('SET', KEYS[1], ARGV[1] .. ' 0', 'PX', ARGV[2])
return {1, '0'}
