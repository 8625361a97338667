-- Takes out everything.
local if_version = ARGV[5]
prune()
if is_stale(if_version) then return finish('stale') end
local removed = count
for id in pairs(items()) do remove(id, 'cleared') end
return finish('ok', removed)
