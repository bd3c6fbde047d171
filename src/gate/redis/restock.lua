-- Changes an item's total once: item, delta, id of the change, the largest total, the most changes to remember.
-- Answers 'done', 'unknown', 'full', or 'short' and 'beyond' with the count that stood in the way.

local refusal, meta = guard('open')
if refusal then return refusal end

local item, delta = ARGV[OWN], tonumber(ARGV[OWN + 1])
local change = item .. ':' .. ARGV[OWN + 2]
plan.read_shelves({item})
if not plan.whole then return {'missing', meta.seq} end

local shelf = plan.shelf[item]
if not shelf then return {'ok', meta.seq, 'unknown', 0} end
if redis.call('SISMEMBER', CHANGES, change) == 1 then return {'ok', meta.seq, 'done', 0} end
if redis.call('SCARD', CHANGES) > tonumber(ARGV[OWN + 4]) then return {'ok', meta.seq, 'full', 0} end
if shelf.free + delta < 0 then return {'ok', meta.seq, 'short', shelf.free} end
local total = shelf.free + shelf.held + shelf.sold
if total + delta > tonumber(ARGV[OWN + 3]) then return {'ok', meta.seq, 'beyond', total} end

shelf.free = shelf.free + delta
shelf.changed = delta ~= 0
local seq = plan.write()
redis.call('SADD', CHANGES, change)
return {'ok', seq, 'done', 0}
