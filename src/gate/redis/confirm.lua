-- The ledger has these holds: they leave the list of what is in flight. A withdrawal ends with it: its units have left
-- the sale.

local refusal, meta = guard('open')
if refusal then return refusal end

local ids = {}
for at = OWN, #ARGV do ids[#ids + 1] = ARGV[at] end
plan.read_for_ending(ids)
if not plan.whole then return {'missing', meta.seq} end

for _, id in ipairs(ids) do
  local hold = plan.held[id]
  if hold and hold.kind == 'withdrawal' then
    plan.drop(id, hold, true)
    plan.buried[#plan.buried + 1] = id
  end
end
local seq = meta.seq
if #plan.dropped > 0 then seq = plan.write() end
if redis.call('ZREM', INFLIGHT, unpack(ids)) > 0 then seq = redis.call('HINCRBY', META, 'seq', 1) end
return {'ok', seq}
