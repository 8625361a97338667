-- Says until when a namespace is to be counted, after a change of it. A later change that was told earlier stands; and
-- while a writer is under way, the namespace stays counted for as long as any has reserved: that writer may have changed
-- it already. The last to end sees to it.
--
-- KEYS  as in reserve.lua
-- ARGV  how many ms the clock is shifted, the namespace, its version, until when it is counted (0: it is empty),
--       1 if this ends a reservation
local list, notes = KEYS[1], KEYS[2]
local namespace, version, ends, ended = ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000) + tonumber(ARGV[1])

local note = redis.call('HGET', notes, namespace)
if not note then return 0 end
local last, told, writers, lease = unpack(cjson.decode(note))
writers = lease > now and math.max(writers - ended, 0) or 0
if version >= last then last, told = version, ends end
if writers == 0 then
    local counted = tonumber(redis.call('ZSCORE', list, namespace) or 0)
    redis.call('ZADD', list, math.max(told, math.min(counted, now)), namespace)
end
redis.call('HSET', notes, namespace, string.format('[%.17g,%.17g,%d,%.17g]', last, told, writers, lease))
return 1
