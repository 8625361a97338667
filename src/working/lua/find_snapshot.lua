-- What a workspace looked like, unless that was too long ago.
--
-- KEYS  as in snapshot.lua
-- ARGV  how many ms the clock is shifted, id, the life of a snapshot in ms
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000) + tonumber(ARGV[1])
local since = redis.call('HGET', KEYS[1], 't:' .. ARGV[2])
if not since or tonumber(since) + tonumber(ARGV[3]) <= now then return false end
return redis.call('HGET', KEYS[1], 'c:' .. ARGV[2])
