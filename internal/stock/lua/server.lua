-- Comes before the scripts that ask which server they run on: the one that data was
-- loaded on is the same only until it restarts or another takes its place. A user who
-- may not ask is told nothing, and nothing is never the same. The embedded server cannot
-- say, and lives as long as its data.
local function server()
  local info = redis.pcall('INFO', 'server')
  if type(info) == 'string' then return string.match(info, 'run_id:(%w+)') end
  if string.find(info.err, 'section (server) is not supported', 1, true) then return 'embedded' end
  return nil
end

