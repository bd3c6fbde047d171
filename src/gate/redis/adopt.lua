-- Takes up stragglers of one kind: id, item, units, buyer, digest, promised payBy. `selling` is not looked at.
-- Answers 'adopted', 'refused', 'ended' or {'other', what is held}.

local WIDTH = 6
local refusal, meta = guard('open')
if refusal then return refusal end

local kind = ARGV[OWN]
local ids, items, names = {}, {}, {}
for at = OWN + 1, #ARGV, WIDTH do
  local i = #ids + 1
  ids[i], items[i], names[i] = ARGV[at], ARGV[at + 1], ARGV[at + 3]
end
plan.read_ended(ids)
plan.read_holds(ids)
plan.read_shelves(items)
plan.read_buyers(names)
if not plan.whole then return {'missing', meta.seq} end

local function decide(at)
  local id, item, units, name = ARGV[at], ARGV[at + 1], tonumber(ARGV[at + 2]), ARGV[at + 3]
  if plan.ended[id] then return 'ended' end
  local held, shelf = plan.held[id], plan.shelf[item]
  if held then
    if held.item == item and held.units == units and held.buyer == name then return 'adopted' end
    return {'other', write_hold(held)}
  end
  if not shelf or shelf.free < units then return 'refused' end
  if kind ~= 'withdrawal' and plan.buyer(name).units + units > meta.limit then return 'refused' end
  plan.take(id, {item = item, units = units, kind = kind, sold = false, digest = ARGV[at + 4], promise = ARGV[at + 5],
                 buyer = name}, true)
  return 'adopted'
end

local answer = {'ok', meta.seq}
for at = OWN + 1, #ARGV, WIDTH do answer[#answer + 1] = decide(at) end
if #plan.entered > 0 then answer[2] = plan.write() end
return answer
