-- Ends holds and gives back exactly what they hold: id, whether the ledger has it. Answers the number of units. An id
-- that the ledger has is remembered as ended, whether it was held or not.

local refusal, meta = guard('open')
if refusal then return refusal end

local ids = {}
for at = OWN, #ARGV, 2 do ids[#ids + 1] = ARGV[at] end
plan.read_for_ending(ids)
if not plan.whole then return {'missing', meta.seq} end

local units = 0
for i, id in ipairs(ids) do
  local hold = plan.held[id]
  if hold then
    units = units + hold.units
    plan.drop(id, hold, false)
  end
  if ARGV[OWN + 2 * i - 1] == '1' then plan.buried[#plan.buried + 1] = id end
end
local seq = meta.seq
if #plan.dropped > 0 or #plan.buried > 0 then seq = plan.write() end
return {'ok', seq, units}
