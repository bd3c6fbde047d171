-- Drops keys of older epochs, KEYS[8] and on; ARGV: the oldest epoch that may have any afterwards.

local refusal, meta = guard('open')
if refusal then return refusal end

local seq = redis.call('HINCRBY', META, 'seq', 1)
if #KEYS > 7 then redis.call('UNLINK', unpack(KEYS, 8)) end
redis.call('HSET', META, 'oldest', ARGV[OWN])
return {'ok', seq}
