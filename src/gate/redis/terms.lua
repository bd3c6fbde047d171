-- Changes the terms of a sale, unless newer ones stand, and adds items that are not there yet: version, limit,
-- selling, then item, total for each. An item that is there keeps its counts.

local refusal, meta = guard('open')
if refusal then return refusal end

local items = {}
for at = OWN + 3, #ARGV, 2 do items[#items + 1] = ARGV[at] end
plan.read_shelves(items)
if not plan.whole then return {'missing', meta.seq} end

local added, version = {}, tonumber(ARGV[OWN])
for i, item in ipairs(items) do
  if not plan.shelf[item] then
    added[#added + 1] = item
    added[#added + 1] = ARGV[OWN + 2 + 2 * i] .. ' 0 0 1'
  end
end
local are_newer = version >= meta.terms
local differ = tonumber(ARGV[OWN + 1]) ~= meta.limit or (ARGV[OWN + 2] == '1') ~= meta.selling or version ~= meta.terms
if #added == 0 and not (are_newer and differ) then return {'ok', meta.seq} end

local seq = redis.call('HINCRBY', META, 'seq', 1)
if are_newer then
  redis.call('HSET', META, 'limit', ARGV[OWN + 1], 'selling', ARGV[OWN + 2], 'terms', ARGV[OWN])
end
call_in_parts('HSET', SHELF, added, 2)
return {'ok', seq}
