-- Lets go of what is in focus, if anything is.
local if_version = ARGV[5]
prune()
if is_stale(if_version) then return finish('stale') end
local released = focus
if released ~= '' then
    focus = ''
    is_changed = true
    events[#events + 1] = '{"type":"released","id":' .. cjson.encode(released) .. '}'
end
return finish('ok', released)
