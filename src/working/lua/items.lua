-- The items without their values, which may be large: each id with what is stored.
prune()
local stored = {}
for _, field in ipairs(redis.call('HKEYS', key)) do
    if string.sub(field, 1, 2) == 'm:' then
        stored[#stored + 1] = string.sub(field, 3)
        stored[#stored + 1] = redis.call('HGET', key, field)
    end
end
return finish('ok', stored)
