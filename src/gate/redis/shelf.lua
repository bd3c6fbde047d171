-- The counts of items: {free, held, sold, version} each, or 'unknown'. Without items: whether the gate stands.

local refusal, meta = guard('open')
if refusal then return refusal end

local items = {}
for at = OWN, #ARGV do items[#items + 1] = ARGV[at] end
plan.read_shelves(items)
if not plan.whole then return {'missing', meta.seq} end

local answer = {'ok', meta.seq}
for _, item in ipairs(items) do
  local shelf = plan.shelf[item]
  answer[#answer + 1] = shelf and {shelf.free, shelf.held, shelf.sold, shelf.version} or 'unknown'
end
return answer
