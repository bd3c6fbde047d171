-- Presses of many buyers: each request bears the next token of the file, and rotates over the items named.
-- Environment: TOKENS file, DEPTH requests sent at once, ITEMS how many items i0, i1, ...
local depth = tonumber(os.getenv("DEPTH"))
local items = tonumber(os.getenv("ITEMS"))
local tokens, rounds, at = {}, {}, 0

local function press(number)
  local path = "/api/flash-sales/items/i" .. number % items .. "/purchase"
  return wrk.format("POST", path, { Authorization = "Bearer " .. tokens[number % #tokens + 1] })
end

local function round(first)
  local presses = {}
  for i = 1, depth do
    presses[i] = press(first + i)
  end
  return table.concat(presses)
end

function init()
  for token in io.lines(os.getenv("TOKENS")) do
    tokens[#tokens + 1] = token
  end
  -- A small crowd is written once, so that the client leaves the machine to the server.
  if #tokens <= 1000 then
    for i = 1, math.max(#tokens, items) do
      rounds[i] = round(i * depth)
    end
  end
end

function request()
  at = at + 1
  if #rounds > 0 then
    return rounds[at % #rounds + 1]
  end
  return round(at * depth)
end

function done(summary, latency)
  local failed = summary.errors.connect + summary.errors.read + summary.errors.write + summary.errors.timeout
  io.write(string.format('RESULT {"requests":%d,"refused":%d,"failed":%d,"us":%d,"p99_us":%d}\n', summary.requests,
    summary.errors.status, failed, summary.duration, latency:percentile(99)))
end
