-- Takes in what the gate admitted, item by item, in the order given; each makes room for itself by displacing the least
-- active (XB-37, R-52). Answers for each whether it came in, and who had to go.
local if_version, metric, capacity, protects, life = ARGV[6], ARGV[7], tonumber(ARGV[8]), ARGV[9] == '1', tonumber(ARGV[10])
local law, parameter, tick, most = tonumber(ARGV[11]), tonumber(ARGV[12]), tonumber(ARGV[13]), tonumber(ARGV[14])
local FIRST_ITEM, PLACES = 15, 12
prune()
if is_stale(if_version) then return finish('stale') end
local offers, longest = {}, 0
for at = FIRST_ITEM, #ARGV, PLACES do
    local offer = {
        id = ARGV[at], value = ARGV[at + 1], admitted = ARGV[at + 2] == '1', level = tonumber(ARGV[at + 3]),
        fade = tonumber(ARGV[at + 4]), importance = tonumber(ARGV[at + 5]), relevance = tonumber(ARGV[at + 6]),
        cost = tonumber(ARGV[at + 7]), chunk = ARGV[at + 8], bindings = ARGV[at + 9],
        observed = tonumber(ARGV[at + 10]), event = ARGV[at + 11],
    }
    offers[#offers + 1] = offer
    offer.ends = now + (offer.fade >= 0 and math.min(offer.fade, life) or life)
    if offer.admitted then longest = math.max(longest, offer.ends) end
end
if longest > 0 and ((count == 0 and reserved == 0) or needs_reservation(longest)) then
    return finish('unreserved', longest)
end

local all = items()

-- Whether these items, and one more, are within the capacity.
local function fits(kept, cost, chunk)
    local slots, costs, chunks, seen = 1, cost, 1, { [chunk] = chunk ~= '' }
    for _, item in pairs(kept) do
        slots, costs = slots + 1, costs + item[COST]
        if item[CHUNK] == '' or not seen[item[CHUNK]] then chunks = chunks + 1 end
        if item[CHUNK] ~= '' then seen[item[CHUNK]] = true end
    end
    if slots > most then return false end
    if metric == 'Slots' then return slots <= capacity end
    if metric == 'Resource' then return costs <= capacity + SLACK end
    if metric == 'Chunks' then return chunks <= capacity end
    return slots <= capacity and costs <= capacity + SLACK
end

-- Who leaves first: the least active, then the longest not accessed, then the smaller id.
local function leaves_before(a, b)
    if math.abs(a.activation - b.activation) > SLACK then return a.activation < b.activation end
    if a.accessed ~= b.accessed then return a.accessed < b.accessed end
    return a.id < b.id
end

local function may_leave(id, item) return id ~= focus and not (protects and item[INJECTED] == 1) end

-- Whether room was made: those who must go are gone, or, when not even that is enough, nobody.
local function make_room(offer)
    local kept, leavers, leaving = {}, {}, {}
    for id, item in pairs(all) do
        if id ~= offer.id then
            kept[id] = item
            if may_leave(id, item) then
                leavers[#leavers + 1] = { id = id, activation = activation(item, now), accessed = item[ACCESSED] }
            end
        end
    end
    table.sort(leavers, leaves_before)
    local at = 0
    while not fits(kept, offer.cost, offer.chunk) do
        at = at + 1
        if not leavers[at] then return nil end
        leaving[at] = leavers[at].id
        kept[leavers[at].id] = nil
    end
    return leaving
end

local verdicts, evicted = {}, {}
for at, offer in ipairs(offers) do
    verdicts[at] = 0
    local leaving = offer.admitted and make_room(offer)
    if leaving then
        for _, id in ipairs(leaving) do
            remove(id, 'evicted', 'displaced')
            all[id] = nil
            evicted[#evicted + 1] = id
        end
        local old = all[offer.id]
        local item = {
            0, offer.level, now, old and old[CREATED] or now, now, now + life, offer.ends, law, parameter, tick,
            offer.importance, offer.relevance, offer.cost, offer.chunk, offer.bindings, offer.observed or now, now,
        }
        if law == 3 then item[FIRST], item[COUNT], item[TIMES] = now, 1, { now } end
        redis.call('HSET', key, 'v:' .. offer.id, offer.value)
        put(offer.id, item)
        if not old then count = count + 1 end
        all[offer.id] = item
        tell(offer.event, item)
        verdicts[at] = 1
    elseif offer.admitted then
        events[#events + 1] = '{"type":"refused","id":' .. cjson.encode(offer.id) .. ',"reason":"no_room"}'
    else
        events[#events + 1] = offer.event
    end
end
if is_changed then measure() end
return finish('ok', verdicts, evicted)
