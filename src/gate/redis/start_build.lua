-- Begins the build of this epoch from nothing: version, limit, selling, then item, total for each.

local refusal = guard('closed', true)
if refusal then return refusal end

local shelves = {}
for at = OWN + 3, #ARGV, 2 do
  shelves[#shelves + 1] = ARGV[at]
  shelves[#shelves + 1] = ARGV[at + 1] .. ' 0 0 1'
end
local seq = redis.call('HINCRBY', META, 'seq', 1)
redis.call('UNLINK', SHELF, HELD, BUYERS, INFLIGHT, ENDED, CHANGES)
redis.call('HSET', META, 'terms', ARGV[OWN], 'limit', ARGV[OWN + 1], 'selling', ARGV[OWN + 2])
for _, key in ipairs({SHELF, HELD, BUYERS}) do redis.call('HSET', key, SENTINEL, '') end
for _, key in ipairs({ENDED, CHANGES}) do redis.call('SADD', key, SENTINEL) end
redis.call('ZADD', INFLIGHT, '+inf', SENTINEL)
call_in_parts('HSET', SHELF, shelves, 2)
return {'ok', seq}
