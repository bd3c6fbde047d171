-- What a script reads once, changes in tables, and writes at the end: all of it or nothing.

local plan = {shelf = {}, buyers = {}, held = {}, ended = {}, dropped = {}, entered = {}, buried = {}, whole = true}

-- Reads `key`'s values of those fields that `known` lacks yet.
local function read_once(key, fields, known)
  local asked, seen = {}, {}
  for _, field in ipairs(fields) do
    if known[field] == nil and not seen[field] then
      seen[field] = true
      asked[#asked + 1] = field
    end
  end
  if #asked == 0 then return asked, {} end
  return asked, redis.call('HMGET', key, unpack(asked))
end

-- Free, held and sold units of an item, and the version of these counts. False: there is no such item.
function plan.read_shelves(items)
  local asked, values = read_once(SHELF, items, plan.shelf)
  for i, item in ipairs(asked) do
    plan.shelf[item] = false
    if values[i] then
      local free, held, sold, version = string.match(values[i], '^(%d+) (%d+) (%d+) (%d+)$')
      if free then
        plan.shelf[item] = {free = tonumber(free), held = tonumber(held), sold = tonumber(sold),
                            version = tonumber(version)}
      else
        plan.whole = false
      end
    end
  end
end

-- A buyer's live units and the ids of his holds, 16 bytes each. Never nil, for buyers without any as well. The mark
-- before the name keeps a buyer apart from the sentinel.
function plan.read_buyers(names)
  local fields, asked, values = {}
  for i, name in ipairs(names) do fields[i] = '=' .. name end
  asked, values = read_once(BUYERS, fields, plan.buyers)
  for i, field in ipairs(asked) do
    plan.buyers[field] = {units = 0, ids = ''}
    if values[i] then
      local units, ids = string.match(values[i], '^(%d+) (.*)$')
      if units then
        plan.buyers[field] = {units = tonumber(units), ids = ids}
      else
        plan.whole = false
      end
    end
  end
end

-- Holds by id; false for those that are not there.
function plan.read_holds(ids)
  local asked, values = read_once(HELD, ids, plan.held)
  for i, id in ipairs(asked) do
    plan.held[id] = values[i] and read_hold(values[i]) or false
    if values[i] and not plan.held[id] then plan.whole = false end
  end
end

function plan.read_ended(ids)
  for i, is_ended in ipairs(redis.call('SMISMEMBER', ENDED, unpack(ids))) do plan.ended[ids[i]] = is_ended == 1 end
end

function plan.buyer(name) return plan.buyers['=' .. name] end

-- The id of the buyer's newest hold.
function plan.newest(name) return string.sub(plan.buyer(name).ids, -16) end

-- Takes the units. The caller has seen that they are free.
function plan.take(id, hold, is_in_flight)
  local shelf = plan.shelf[hold.item]
  local side = hold.sold and 'sold' or 'held'
  shelf.free = shelf.free - hold.units
  shelf[side] = shelf[side] + hold.units
  shelf.changed = true
  if hold.kind ~= 'withdrawal' then
    local buyer = plan.buyer(hold.buyer)
    buyer.units = buyer.units + hold.units
    buyer.ids = buyer.ids .. id
    buyer.changed = true
  end
  plan.held[id] = hold
  hold.changed = true
  if is_in_flight then plan.entered[#plan.entered + 1] = id end
end

function plan.sell(hold)
  local shelf = plan.shelf[hold.item]
  if hold.sold then return end
  shelf.held = shelf.held - hold.units
  shelf.sold = shelf.sold + hold.units
  shelf.changed = true
  hold.sold = true
  hold.changed = true
end

-- Ends the hold. Its units go back to the shelf, unless they leave the sale.
function plan.drop(id, hold, units_leave)
  local shelf = plan.shelf[hold.item]
  local side = hold.sold and 'sold' or 'held'
  shelf[side] = shelf[side] - hold.units
  if not units_leave then shelf.free = shelf.free + hold.units end
  shelf.changed = true
  if hold.kind ~= 'withdrawal' then
    local buyer = plan.buyer(hold.buyer)
    buyer.units = buyer.units - hold.units
    for at = 1, #buyer.ids, 16 do
      if string.sub(buyer.ids, at, at + 15) == id then
        buyer.ids = string.sub(buyer.ids, 1, at - 1) .. string.sub(buyer.ids, at + 16)
        break
      end
    end
    buyer.changed = true
  end
  plan.held[id] = false
  plan.dropped[#plan.dropped + 1] = id
end

-- Reads everything that ending these holds will change.
function plan.read_for_ending(ids)
  plan.read_holds(ids)
  local items, names = {}, {}
  for _, id in ipairs(ids) do
    local hold = plan.held[id]
    if hold then
      items[#items + 1] = hold.item
      names[#names + 1] = hold.buyer
    end
  end
  plan.read_shelves(items)
  plan.read_buyers(names)
  for _, item in ipairs(items) do
    if not plan.shelf[item] then plan.whole = false end
  end
end

local function add_changed_shelves(out)
  for item, shelf in pairs(plan.shelf) do
    if shelf and shelf.changed then
      out[#out + 1] = item
      out[#out + 1] = string.format('%d %d %d %d', shelf.free, shelf.held, shelf.sold, shelf.version + 1)
    end
  end
end

-- Writes the plan; the count of writes afterwards. The first command is one that Redis refuses when memory is out;
-- once it has passed, Redis lets a script finish.
function plan.write()
  local seq = redis.call('HINCRBY', META, 'seq', 1)
  local shelves, buyers, buyers_gone, holds, entered = {}, {}, {}, {}, {}
  add_changed_shelves(shelves)
  for field, buyer in pairs(plan.buyers) do
    if buyer.changed and buyer.units > 0 then
      buyers[#buyers + 1] = field
      buyers[#buyers + 1] = string.format('%d ', buyer.units) .. buyer.ids
    elseif buyer.changed then
      buyers_gone[#buyers_gone + 1] = field
    end
  end
  for id, hold in pairs(plan.held) do
    if hold and hold.changed then
      holds[#holds + 1] = id
      holds[#holds + 1] = write_hold(hold)
    end
  end
  if #plan.entered > 0 then
    local time = redis.call('TIME')
    local now = string.format('%d%06d', time[1], time[2])
    for _, id in ipairs(plan.entered) do
      entered[#entered + 1] = now
      entered[#entered + 1] = id
    end
  end
  call_in_parts('HDEL', HELD, plan.dropped, 1)
  call_in_parts('ZREM', INFLIGHT, plan.dropped, 1)
  call_in_parts('SADD', ENDED, plan.buried, 1)
  call_in_parts('HSET', HELD, holds, 2)
  call_in_parts('HDEL', BUYERS, buyers_gone, 1)
  call_in_parts('HSET', BUYERS, buyers, 2)
  call_in_parts('HSET', SHELF, shelves, 2)
  call_in_parts('ZADD', INFLIGHT, entered, 2)
  return seq
end
