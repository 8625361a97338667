-- Raises an item's activation and starts its clock again, under the law now in force (XB-24). ActR gets one
-- presentation more instead.
local id, if_version, protects = ARGV[5], ARGV[6], ARGV[7] == '1'
local law, parameter, tick, boost, threshold = tonumber(ARGV[8]), tonumber(ARGV[9]), tonumber(ARGV[10]), tonumber(ARGV[11]), tonumber(ARGV[12])
local event = ARGV[13]
prune()
if is_stale(if_version) then return finish('stale') end
local item = get(id)
if not item then return finish('absent') end
local before = item[ENDS]
if law == 3 then
    local times = item[TIMES] or { item[SINCE] }
    item[FIRST], item[COUNT] = item[FIRST] or item[SINCE], (item[COUNT] or 1) + 1
    times[#times + 1] = now
    if #times > KEPT then table.remove(times, 1) end
    item[TIMES] = times
else
    item[LEVEL] = math.min(1, activation(item, now) + boost)
    item[FIRST], item[COUNT], item[TIMES] = nil, nil, nil
end
item[SINCE], item[ACCESSED], item[LAW], item[PARAMETER], item[TICK] = now, now, law, parameter, tick
if law == 3 then item[LEVEL] = activation(item, now) end
item[ENDS] = (protects and item[INJECTED] == 1) and item[EXPIRES] or end_of(item, threshold)
if needs_reservation(item[ENDS]) then return finish('unreserved', item[ENDS]) end
put(id, item)
if item[ENDS] ~= before then measure() end
tell(event, item)
return finish('ok', number(item[LEVEL]))
