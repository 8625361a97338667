-- Keeps what a workspace looked like. KEYS[1]: the snapshots. ARGV: id, content, how many there may be, their life in ms.
if redis.call('HLEN', KEYS[1]) >= tonumber(ARGV[3]) then return 0 end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
redis.call('PEXPIRE', KEYS[1], ARGV[4])
return 1
