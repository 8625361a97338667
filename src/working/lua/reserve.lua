-- Counts a namespace among those of its tenant, before anything is written into it (A-609, R-16).
--
-- KEYS[1]  the namespaces, by the time until which each is counted
-- KEYS[2]  of each: [the version last told, until when it is counted by that, writers under way, until when they may
--          still write]
-- ARGV     how many ms the clock is shifted, the namespace, until when it is to be counted, how many there may be,
--          within how many ms of its end a namespace may be gone already

-- A writer takes less than this from its reservation to its end. One that crashed is then not waited for any more.
local LEASE_MS = 2000
-- A namespace is remembered this long after its end, so that an erasure finds what is left.
local KEPT_MS = 600000

local list, notes = KEYS[1], KEYS[2]
local namespace, ends, most, doubt = ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000) + tonumber(ARGV[1])

for _, old in ipairs(redis.call('ZRANGEBYSCORE', list, '-inf', now - KEPT_MS, 'LIMIT', 0, 100)) do
    redis.call('ZREM', list, old)
    redis.call('HDEL', notes, old)
end
local counted = tonumber(redis.call('ZSCORE', list, namespace) or 0)
if counted <= now and redis.call('ZCOUNT', list, '(' .. now, '+inf') >= most then
    return { 'full', redis.call('ZRANGEBYSCORE', list, '(' .. now, now + doubt, 'LIMIT', 0, 16) }
end
local note = redis.call('HGET', notes, namespace)
local last, told, writers, lease = unpack(note and cjson.decode(note) or { 0, 0, 0, 0 })
writers = lease > now and writers or 0
redis.call('ZADD', list, math.max(counted, ends), namespace)
-- In full: cjson would cut a version to 14 digits.
redis.call('HSET', notes, namespace, string.format('[%.17g,%.17g,%d,%.17g]', last, told, writers + 1, now + LEASE_MS))
local latest = tonumber(redis.call('ZRANGE', list, -1, -1, 'WITHSCORES')[2])
redis.call('PEXPIRE', list, latest - now + KEPT_MS)
redis.call('PEXPIRE', notes, latest - now + KEPT_MS)
return { 'reserved', {} }
