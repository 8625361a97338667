-- The laws of activation (XB-20 to XB-25), the same as in activation.rs.

local SLACK, KEPT = 1e-9, 64

local function in_ticks(elapsed, tick) return math.floor(math.max(elapsed, 0) / tick) * tick / 1000 end

local function mean_power(a, b, d)
    if b - a < SLACK then return a ^ -d end
    if math.abs(d - 1) < SLACK then return math.log(b / a) / (b - a) end
    return (b ^ (1 - d) - a ^ (1 - d)) / ((1 - d) * (b - a))
end

local function need_odds(item, at)
    local d, tick = item[PARAMETER], item[TICK]
    local function age(since) return math.max(in_ticks(at - since, tick), tick / 1000) end
    local odds = 0
    for _, since in ipairs(item[TIMES]) do odds = odds + age(since) ^ -d end
    local forgotten = item[COUNT] - #item[TIMES]
    if forgotten < 1 then return odds end
    return odds + forgotten * mean_power(age(item[TIMES][1]), age(item[FIRST]), d)
end

local function activation(item, at)
    local t = in_ticks(at - item[SINCE], item[TICK])
    local law, p = item[LAW], item[PARAMETER]
    if law == 0 then return math.max(item[LEVEL] - p * t, 0) end
    if law == 1 then return item[LEVEL] * math.exp(-p * t) end
    if law == 2 then return item[LEVEL] * (1 + t) ^ -p end
    local odds = need_odds(item, at)
    return odds / (1 + odds)
end

-- When an item ends: its time is over, or its activation is below the threshold.
local function end_of(item, threshold)
    local function is_below(at) return activation(item, at) < threshold - SLACK end
    if not is_below(item[EXPIRES]) then return item[EXPIRES] end
    local above, below = now - 1, item[EXPIRES]
    while below - above > 1 do
        local middle = math.floor((above + below) / 2)
        if is_below(middle) then below = middle else above = middle end
    end
    return below
end
