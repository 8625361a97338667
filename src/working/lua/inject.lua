-- Sets a slot (A-608 to A-617). Refuses a new one when there are `max` already; never takes another out (XA-C12).
local id, value, max, life, fade = ARGV[5], ARGV[6], tonumber(ARGV[7]), tonumber(ARGV[8]), tonumber(ARGV[9])
local level, law, parameter, tick, event = tonumber(ARGV[10]), tonumber(ARGV[11]), tonumber(ARGV[12]), tonumber(ARGV[13]), ARGV[14]
prune()
local expires = now + life
local ends = fade >= 0 and now + math.min(fade, life) or expires
if count == 0 and reserved == 0 then return finish('unreserved', ends) end
local old = get(id)
if count >= max and not old then return finish('full') end
if needs_reservation(ends) then return finish('unreserved', ends) end
local item = {
    1, level, now, old and old[CREATED] or now, now, expires, ends, law, parameter, tick,
    0.5, -1, 1, '', '', now, now,
}
if law == 3 then item[FIRST], item[COUNT], item[TIMES] = now, 1, { now } end
redis.call('HSET', key, 'v:' .. id, value)
put(id, item)
if not old then count = count + 1 end
if old and old[ENDS] > ends then measure() end
tell(event, item)
return finish('ok')
