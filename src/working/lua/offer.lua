-- Takes in what the gate admitted, item by item, in the order given; each makes room for itself by displacing the least
-- active (XB-37, R-52). Answers for each whether it came in, and who had to go.
local if_version, metric, capacity, protects, life = ARGV[5], ARGV[6], tonumber(ARGV[7]), ARGV[8] == '1', tonumber(ARGV[9])
local law, parameter, tick, most = tonumber(ARGV[10]), tonumber(ARGV[11]), tonumber(ARGV[12]), tonumber(ARGV[13])
local FIRST_ITEM, PLACES = 14, 12
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

-- What a set of items comes to, kept up as they come and go, so that nobody has to go through them all again.
local function nothing() return { slots = 0, costs = 0, chunks = 0, members = {} } end

local function count_in(sum, item, by)
    sum.slots, sum.costs = sum.slots + by, sum.costs + by * item[COST]
    local chunk = item[CHUNK]
    local members = chunk ~= '' and sum.members[chunk] or 0
    if chunk ~= '' then sum.members[chunk] = members + by end
    if chunk == '' or members == 0 or members + by == 0 then sum.chunks = sum.chunks + by end
end

-- Whether these, and what is offered, are within the capacity.
local function fits(sum, offer)
    local slots, costs = sum.slots + 1, sum.costs + offer.cost
    if slots > most then return false end
    if metric == 'Slots' then return slots <= capacity end
    if metric == 'Resource' then return costs <= capacity + SLACK end
    if metric == 'Chunks' then
        local is_new = offer.chunk == '' or (sum.members[offer.chunk] or 0) == 0
        return sum.chunks + (is_new and 1 or 0) <= capacity
    end
    return slots <= capacity and costs <= capacity + SLACK
end

local function may_leave(id, item) return id ~= focus and not (protects and item[INJECTED] == 1) end

-- Of all, and of those that nobody may displace.
local present, fixed = nothing(), nothing()

local function enter(id, item, by)
    count_in(present, item, by)
    if not may_leave(id, item) then count_in(fixed, item, by) end
end

for id, item in pairs(all) do enter(id, item, 1) end

-- Who leaves first: the least active, then the longest not accessed, then the smaller id. Activations are told apart in
-- steps, because an order in which only neighbours may be equal is none.
local function leaves_before(a, b)
    if a.step ~= b.step then return a.step < b.step end
    if a.accessed ~= b.accessed then return a.accessed < b.accessed end
    return a.id < b.id
end

local function leaver(id, item)
    return { id = id, item = item, step = math.floor(activation(item, now) / SLACK + 0.5), accessed = item[ACCESSED] }
end

-- Those who may leave, the first to go at the end; made when somebody has to go.
local leavers

local function line_up()
    leavers = {}
    for id, item in pairs(all) do
        if may_leave(id, item) then leavers[#leavers + 1] = leaver(id, item) end
    end
    table.sort(leavers, function(a, b) return leaves_before(b, a) end)
end

local function join(id, item)
    if not leavers or not may_leave(id, item) then return end
    local new, from, to = leaver(id, item), 1, #leavers + 1
    while from < to do
        local middle = math.floor((from + to) / 2)
        if leaves_before(new, leavers[middle]) then from = middle + 1 else to = middle end
    end
    table.insert(leavers, from, new)
end

-- Takes out the first to go, but never what is offered. Who left or was set again since the line was made is passed over.
local function displace(offer)
    if not leavers then line_up() end
    while true do
        local first = table.remove(leavers)
        if not first then return nil end
        if first.id ~= offer.id and all[first.id] == first.item then
            remove(first.id, 'evicted', 'displaced')
            enter(first.id, first.item, -1)
            all[first.id] = nil
            return first.id
        end
    end
end

local verdicts, evicted = {}, {}
for at, offer in ipairs(offers) do
    verdicts[at] = 0
    local old = all[offer.id]
    if offer.admitted and old then enter(offer.id, old, -1) end
    if offer.admitted and fits(fixed, offer) then
        -- There is room, or will be: without all who may leave it fits.
        while not fits(present, offer) do
            local id = displace(offer)
            if not id then break end
            evicted[#evicted + 1] = id
        end
        local item = {
            0, offer.level, now, old and old[CREATED] or now, now, now + life, offer.ends, law, parameter, tick,
            offer.importance, offer.relevance, offer.cost, offer.chunk, offer.bindings, offer.observed or now, now,
        }
        if law == 3 then item[FIRST], item[COUNT], item[TIMES] = now, 1, { now } end
        redis.call('HSET', key, 'v:' .. offer.id, offer.value)
        put(offer.id, item)
        if not old then count = count + 1 end
        all[offer.id] = item
        enter(offer.id, item, 1)
        join(offer.id, item)
        tell(offer.event, item)
        verdicts[at] = 1
    elseif offer.admitted then
        if old then enter(offer.id, old, 1) end
        events[#events + 1] = '{"type":"refused","id":' .. cjson.encode(offer.id) .. ',"reason":"no_room"}'
    else
        events[#events + 1] = offer.event
    end
end
if is_changed then measure() end
return finish('ok', verdicts, evicted)
