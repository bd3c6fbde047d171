-- Decides claims in order: id, item, units, buyer, digest, promised payBy, kind.
-- Answers one word for each, or {'over_limit', units held, id of a hold}.

local WIDTH = 7
local refusal, meta = guard('open')
if refusal then return refusal end

local ids, items, names = {}, {}, {}
for at = OWN, #ARGV, WIDTH do
  local i = #ids + 1
  ids[i], items[i], names[i] = ARGV[at], ARGV[at + 1], ARGV[at + 3]
end
plan.read_ended(ids)
plan.read_holds(ids)
plan.read_shelves(items)
plan.read_buyers(names)
if not plan.whole then return {'missing', meta.seq} end

-- An id stands for one request.
local function is_same(held, item, units, digest)
  local unknown = '0'  -- A digest that nobody knew when the hold was made.
  return held.item == item and held.units == units and
         (held.digest == digest or held.digest == unknown or digest == unknown)
end

local function repeated(id)
  if plan.held[id].changed or redis.call('ZSCORE', INFLIGHT, id) then return 'repeated' end
  return 'recorded'
end

local function decide(at)
  local id, item, units, name, digest = ARGV[at], ARGV[at + 1], tonumber(ARGV[at + 2]), ARGV[at + 3], ARGV[at + 4]
  local is_retake = ARGV[at + 6] == 'retake'
  if plan.ended[id] and not is_retake then return 'ended' end
  local held, shelf, buyer = plan.held[id], plan.shelf[item], plan.buyer(name)
  if held then return is_same(held, item, units, digest) and repeated(id) or 'key_reused' end
  if not shelf or (not meta.selling and not is_retake) then return 'not_on_sale' end
  if buyer.units + units > meta.limit then return {'over_limit', buyer.units, plan.newest(name)} end
  if shelf.free < units then return shelf.held > 0 and 'all_held' or 'sold_out' end
  plan.take(id, {item = item, units = units, kind = ARGV[at + 6], sold = false, digest = digest,
                 promise = ARGV[at + 5], buyer = name}, true)
  return 'admitted'
end

local answer = {'ok', meta.seq}
for at = OWN, #ARGV, WIDTH do answer[#answer + 1] = decide(at) end
if #plan.entered > 0 then answer[2] = plan.write() end
return answer
