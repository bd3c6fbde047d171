-- These orders were paid: their units move from held to sold.

local refusal, meta = guard('open')
if refusal then return refusal end

local ids = {}
for at = OWN, #ARGV do ids[#ids + 1] = ARGV[at] end
plan.read_for_ending(ids)
if not plan.whole then return {'missing', meta.seq} end

local has_changed = false
for _, id in ipairs(ids) do
  local hold = plan.held[id]
  if hold and not hold.sold and hold.kind ~= 'withdrawal' then
    plan.sell(hold)
    has_changed = true
  end
end
if has_changed then return {'ok', plan.write()} end
return {'ok', meta.seq}
