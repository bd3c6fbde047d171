-- One unit for one buyer, as a shop on Redis takes it: not durable unless Redis syncs its log.
local shelf, buyers, buyer = KEYS[1], KEYS[2], ARGV[1]
if redis.call('SISMEMBER', buyers, buyer) == 1 then return 'again' end
if tonumber(redis.call('GET', shelf) or '0') < 1 then return 'sold out' end
local left = redis.call('DECR', shelf)
redis.call('SADD', buyers, buyer)
return left
