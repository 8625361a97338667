-- Puts an item into focus, in the place of any other.
local id, if_version = ARGV[5], ARGV[6]
prune()
if is_stale(if_version) then return finish('stale') end
local item = get(id)
if not item then return finish('absent') end
item[ACCESSED] = now
put(id, item)
focus = id
events[#events + 1] = '{"type":"focused","id":' .. cjson.encode(id) .. '}'
return finish('ok')
