-- Takes a key that held.lua has found free, with the next fence of count.lua; both come before it
-- in the same script.
-- KEYS: lock, fence counter of the bucket
-- ARGV: token, lease in ms, more than 0 for a caller that waits
-- Answers {1, fence}.
local fence = count(KEYS[2])
redis.call('SET', KEYS[1], ARGV[1] .. ' ' .. fence, 'PX', ARGV[2])
return {1, fence}
