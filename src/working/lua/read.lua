-- One item and its value, as stored.
local id = ARGV[5]
prune()
local item = redis.call('HGET', key, 'm:' .. id)
if not item then return finish('absent') end
return finish('ok', item, redis.call('HGET', key, 'v:' .. id))
