-- Comes before the scripts that read a shard's counter: a shard that is being loaded has the
-- word "closed" in its place, because all keys of a shard exist from the first on. While a slot
-- of a Cluster is moved a script is answered where all of its keys are, and nowhere if one is
-- missing.
local function counter(key) return tonumber(redis.call('GET', key) or '') end

