-- Everything there is, as stored.
prune()
local answer = finish('ok', count, focus, next_end)
answer[9] = redis.call('HGETALL', key)
return answer
