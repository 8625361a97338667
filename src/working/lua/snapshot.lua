-- Keeps what a workspace looked like, unless enough that is not too old is kept already.
--
-- KEYS[1]  the snapshots: of each its content (c:<id>) and since when it is kept (t:<id>)
-- ARGV     how many ms the clock is shifted, id, content, how many there may be, their life in ms
local snapshots, id, content, most, life = KEYS[1], ARGV[2], ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5])
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000) + tonumber(ARGV[1])

local kept = 0
for _, field in ipairs(redis.call('HKEYS', snapshots)) do
    if string.sub(field, 1, 2) == 't:' then
        if tonumber(redis.call('HGET', snapshots, field)) + life > now then
            kept = kept + 1
        else
            redis.call('HDEL', snapshots, field, 'c:' .. string.sub(field, 3))
        end
    end
end
if kept >= most then return 0 end
redis.call('HSET', snapshots, 't:' .. id, now, 'c:' .. id, content)
redis.call('PEXPIRE', snapshots, life)
return 1
