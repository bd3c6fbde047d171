-- Puts in what the ledger says is live: into a build (state 'closed') or as a repair ('open'). For each: id, item,
-- units, buyer, digest, promised payBy, kind, sold, recorded. Answers {'corrupt', writes, place, reason} if one does not
-- fit; then none of them was taken.

local WIDTH = 9
local refusal, meta = guard(ARGV[OWN])
if refusal then return refusal end

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

local has_changed = false

-- The reason why it does not fit; nil if it does.
local function restore(at)
  local id, item, units, name = ARGV[at], ARGV[at + 1], tonumber(ARGV[at + 2]), ARGV[at + 3]
  local is_sold, is_recorded = ARGV[at + 7] == '1', ARGV[at + 8] == '1'
  local held, shelf = plan.held[id], plan.shelf[item]
  if not shelf then return 'no such item is open in the sale' end
  if plan.ended[id] then return nil end
  if held then
    if held.item ~= item or held.units ~= units or held.buyer ~= name then
      return 'the gate holds it with other contents'
    end
    if is_sold and not held.sold then
      plan.sell(held)
      has_changed = true
    end
    return nil
  end
  if shelf.free < units then return string.format('only %d units are free', shelf.free) end
  plan.take(id, {item = item, units = units, kind = ARGV[at + 6], sold = is_sold, digest = ARGV[at + 4],
                 promise = ARGV[at + 5], buyer = name}, not is_recorded)
  has_changed = true
  return nil
end

for at = OWN + 1, #ARGV, WIDTH do
  local reason = restore(at)
  if reason then return {'corrupt', meta.seq, (at - OWN - 1) / WIDTH, reason} end
end
if has_changed then return {'ok', plan.write()} end
return {'ok', meta.seq}
