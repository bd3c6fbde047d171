-- Every script begins with this: the keys of a sale, the guard, and how records are spelled.
--
-- ARGV[1] to ARGV[3] are epoch, layout and ledger of the caller; a script's own arguments begin at ARGV[OWN]. Every
-- script reads and checks first and writes last. Its answer is a list: a word, the count of writes, and what it says.

redis.replicate_commands()  -- Before Redis 7 a script that asks for the time could not write without it.

local META, SHELF, HELD, BUYERS, INFLIGHT, ENDED, CHANGES = unpack(KEYS, 1, 7)
local OWN = 4
local SENTINEL = '_'  -- In every key, so that "empty" and "lost" do not look alike.

-- Whether every key of the epoch is there and of its type. A wrong type is an error value here, and never stops us.
local function is_whole()
  for _, key in ipairs({SHELF, HELD, BUYERS}) do
    if redis.pcall('HEXISTS', key, SENTINEL) ~= 1 then return false end
  end
  for _, key in ipairs({ENDED, CHANGES}) do
    if redis.pcall('SISMEMBER', key, SENTINEL) ~= 1 then return false end
  end
  return type(redis.pcall('ZSCORE', INFLIGHT, SENTINEL)) == 'string'
end

local function read_meta()
  local m = redis.pcall('HMGET', META, 'epoch', 'layout', 'ledger', 'state', 'seq', 'selling', 'limit', 'terms',
                        'oldest')
  if m.err then return nil end
  return {epoch = m[1], layout = m[2], ledger = m[3], state = m[4], seq = tonumber(m[5]), selling = m[6] == '1',
          limit = tonumber(m[7]), terms = tonumber(m[8]), oldest = tonumber(m[9])}
end

-- Nil and what `meta` says; or the answer that refuses the call. `state` is the one that the call needs.
local function guard(state, may_lack_keys)
  local meta = read_meta()
  if not meta or not meta.epoch or not meta.seq then return {'missing', 0} end
  if meta.ledger ~= ARGV[3] then return {'foreign', meta.seq, meta.ledger or ''} end
  if meta.epoch ~= ARGV[1] or meta.layout ~= ARGV[2] then return {'wrong_epoch', meta.seq, meta.epoch} end
  if meta.state ~= state then return {state == 'open' and 'closed' or 'already_open', meta.seq} end
  if may_lack_keys then return nil, meta end
  if not is_whole() or not meta.limit or not meta.terms then return {'missing', meta.seq} end
  return nil, meta
end

-- A hold, as it stands in `held`: item, units, kind, sold, digest, promised payBy, buyer. The buyer may hold any byte.
local HOLD = '^(%d+) (%d+) (%l+) ([01]) (%x+) (%-?%d+) (.*)$'

local function read_hold(record)
  local item, units, kind, sold, digest, promise, buyer = string.match(record, HOLD)
  if not item then return nil end
  return {item = item, units = tonumber(units), kind = kind, sold = sold == '1', digest = digest, promise = promise,
          buyer = buyer}
end

local function write_hold(h)
  return string.format('%s %d %s %d %s %s ', h.item, h.units, h.kind, h.sold and 1 or 0, h.digest, h.promise) .. h.buyer
end

-- Calls a command with any number of arguments, in portions that fit Lua's stack. `step` is the size of a group.
local function call_in_parts(command, key, arguments, step)
  local part = 1000 * step
  for first = 1, #arguments, part do
    redis.call(command, key, unpack(arguments, first, math.min(first + part - 1, #arguments)))
  end
end
