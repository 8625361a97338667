-- What every step on a workspace begins with: the time, the header, the items, and how they are written back.
--
-- A workspace is a hash of its slots and what the engine knows of them:
--   h        the header: [version, count, next, last, told, focus]
--            next: no item ends before this. last: none ends after it. told: until when the tenant's list of
--            namespaces counts this one; never before last. The version begins with the time in microseconds and rises
--            by one with each change; so no workspace has a version that an earlier one of its namespace had.
--   v:<id>   the value, as compact JSON
--   m:<id>   the item: a list, whose places are named below
--
-- and a sorted set of the ids by their activation: the score is the ms at which an item's activation has fallen to the
-- threshold, or its life is over. It does not change as time passes, and rises with `a0 + rate·t0` and `ln a0 + rate·t0`,
-- the keys of the linear and the exponential law (XB-26); unlike those it orders items of different laws.
--
-- KEYS[1]  the workspace          ARGV[1]  by how many ms the clock is shifted
-- KEYS[2]  the activations
-- ARGV[2]  the channel of events  ARGV[3]  how much longer than `last` a namespace is counted, in ms
-- ARGV[4]  until when a reservation was just made, or 0

-- Places in an item.
local INJECTED, LEVEL, SINCE, CREATED, ACCESSED, EXPIRES, ENDS, LAW, PARAMETER, TICK = 1, 2, 3, 4, 5, 6, 7, 8, 9, 10
local IMPORTANCE, RELEVANCE, COST, CHUNK, BINDINGS, OBSERVED, SET = 11, 12, 13, 14, 15, 16, 17
-- ActR only: the first presentation, how many there were, and the latest.
local FIRST, COUNT, TIMES = 18, 19, 20

-- Redis forgets a workspace this long after its last item has ended, whether or not anybody looked.
local JANITOR_MS = 60000

-- The version of an emptied workspace is remembered this long, so that who emptied it can go on from there. It is gone
-- before its namespace is from the list of reserve.lua, where an erasure finds it.
local EMPTY_MS = 540000

local key, activations, channel, slack, reserved = KEYS[1], KEYS[2], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000) + tonumber(ARGV[1])
local head = redis.call('HGET', key, 'h')
local is_new = not head
head = head and cjson.decode(head) or { 0, 0, 0, 0, 0, '' }
local version, count, next_end, last_end, told, focus = unpack(head)
local version_before, told_before = version, told
local is_changed, events = false, {}

-- Numbers that are stored or shown keep 17 digits; cjson alone would keep 14, which a time after 5138 exceeds.
local function number(n) return string.format('%.17g', n) end

-- A list of numbers, texts and such lists, as JSON.
local function encode(list)
    local parts = {}
    for at, part in ipairs(list) do
        local kind = type(part)
        parts[at] = kind == 'number' and number(part) or kind == 'table' and encode(part) or cjson.encode(part)
    end
    return '[' .. table.concat(parts, ',') .. ']'
end

local function get(id)
    local item = redis.call('HGET', key, 'm:' .. id)
    return item and cjson.decode(item)
end

-- Every item, by id. Reads no values: they may be large.
local function items()
    local ids, fields = {}, {}
    for _, field in ipairs(redis.call('HKEYS', key)) do
        if string.sub(field, 1, 2) == 'm:' then
            fields[#fields + 1] = field
            ids[#ids + 1] = string.sub(field, 3)
        end
    end
    local all = {}
    if #fields > 0 then
        for at, item in ipairs(redis.call('HMGET', key, unpack(fields))) do all[ids[at]] = cjson.decode(item) end
    end
    return all
end

local function put(id, item)
    redis.call('HSET', key, 'm:' .. id, encode(item))
    redis.call('ZADD', activations, item[ENDS], id)
    next_end = (count == 0 or item[ENDS] < next_end) and item[ENDS] or next_end
    last_end = math.max(last_end, item[ENDS])
    is_changed = true
end

local function remove(id, kind, reason)
    redis.call('HDEL', key, 'm:' .. id, 'v:' .. id)
    redis.call('ZREM', activations, id)
    count = count - 1
    if focus == id then focus = '' end
    is_changed = true
    events[#events + 1] = '{"type":"' .. kind .. '","id":' .. cjson.encode(id)
        .. (reason and ',"reason":"' .. reason .. '"' or '') .. '}'
end

-- Finds anew when the first and the last item end.
local function measure()
    next_end = tonumber(redis.call('ZRANGE', activations, 0, 0, 'WITHSCORES')[2] or 0)
    last_end = tonumber(redis.call('ZRANGE', activations, -1, -1, 'WITHSCORES')[2] or 0)
end

-- One more change. What was refused at the gate is told without one.
local function raise()
    if is_changed then version = version > 0 and version + 1 or time[1] * 1000000 + time[2] end
    is_changed = false
end

-- Takes out what has ended: its time is over, or it has faded below the threshold (A-104, XB-25).
local function prune()
    if count == 0 or now < next_end then return end
    for _, id in ipairs(redis.call('ZRANGEBYSCORE', activations, '-inf', now)) do
        local is_over = now >= get(id)[EXPIRES]
        remove(id, is_over and 'expired' or 'evicted', not is_over and 'faded')
    end
    measure()
    raise()
end

-- Whether the tenant's list has to be told first that this namespace will last until then.
local function needs_reservation(ends)
    told = math.max(told, reserved)
    return ends > told
end

-- Writes the header, tells who listens, and answers: {outcome, now, version, told, whether told was lowered, …}.
local function finish(outcome, ...)
    raise()
    if version ~= version_before then
        local life = EMPTY_MS
        if count <= 0 then
            count, next_end, last_end, told = 0, 0, 0, 0
            redis.call('DEL', key, activations)
        else
            if told > last_end + 2 * slack then told = last_end + slack end
            life = math.max(last_end - now, 0) + JANITOR_MS
        end
        redis.call('HSET', key, 'h', encode({ version, count, next_end, last_end, told, focus }))
        redis.call('PEXPIRE', key, life)
        redis.call('PEXPIRE', activations, life)
    else
        -- Nothing was written, and what was reserved for it is not needed.
        told = told_before
    end
    if #events > 0 then
        redis.call('PUBLISH', channel, '{"from":' .. number(version_before) .. ',"version":' .. number(version) .. ',"at_ms":' .. now
            .. ',"next_ms":' .. (count > 0 and next_end or 0) .. ',"events":[' .. table.concat(events, ',') .. ']}')
    end
    return { outcome, now, version, told, told < told_before and 1 or 0, ... }
end

-- Whether the caller builds on another version than this one (XB-48).
local function is_stale(wanted)
    return wanted ~= '' and tonumber(wanted) ~= version
end

-- What the server forgot of one key, because memory was short, is made good from the other.
if is_new then
    redis.call('DEL', activations)
elseif redis.call('ZCARD', activations) ~= count then
    redis.call('DEL', activations)
    for id, item in pairs(items()) do redis.call('ZADD', activations, item[ENDS], id) end
end

-- The event of an item that came in or was rehearsed: what the caller wrote, and what only is known here.
local function tell(event, item)
    events[#events + 1] = event .. ',"activation":' .. number(item[LEVEL]) .. ',"since_ms":' .. item[SINCE]
        .. ',"ends_at_ms":' .. item[ENDS] .. (item[TIMES] and ',"presentations_ms":' .. cjson.encode(item[TIMES]) or '')
        .. '}'
end
