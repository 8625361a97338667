-- Takes out one slot. With ARGV[6], only if the item is still what it was when somebody looked.
local id, as_seen = ARGV[5], ARGV[6]
prune()
local item = redis.call('HGET', key, 'm:' .. id)
if not item or (as_seen ~= '' and as_seen ~= item) then return finish('absent') end
remove(id, 'cleared')
if cjson.decode(item)[ENDS] >= last_end then measure() end
return finish('ok')
