-- Does on several shards what a script does on one, whose text is the function one, before this. Each is as
-- if it were alone: what goes wrong on one is its own answer.
--
-- KEYS: those of each shard   ARGV: how many keys a shard has, then for each: how many arguments, and these
local each = tonumber(ARGV[1])
local answers, from, at = {}, 1, 2
while from <= #KEYS do
  local last = at + tonumber(ARGV[at])
  local ok, answer = pcall(one, {unpack(KEYS, from, from + each - 1)}, {unpack(ARGV, at + 1, last)})
  if not ok then -- told as a server tells of it: halfdone.go reads it
    answer = redis.error_reply((type(answer) == 'table' and answer.err or tostring(answer)) .. ' script: on @user_script')
  end
  answers[#answers + 1] = answer
  from, at = from + each, last + 1
end
return answers
