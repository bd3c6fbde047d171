-- Holds that have been in flight for at least so many microseconds, oldest first: age, count.
-- Answers id, record, age for each.

local refusal, meta = guard('open')
if refusal then return refusal end

local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local latest = string.format('%d', now - tonumber(ARGV[OWN]))
local found = redis.call('ZRANGEBYSCORE', INFLIGHT, '-inf', latest, 'WITHSCORES', 'LIMIT', 0, ARGV[OWN + 1])
local ids = {}
for i = 1, #found, 2 do ids[#ids + 1] = found[i] end
local answer = {'ok', meta.seq}
if #ids == 0 then return answer end
local records = redis.call('HMGET', HELD, unpack(ids))
for i, id in ipairs(ids) do
  if not records[i] then return {'missing', meta.seq} end
  answer[#answer + 1] = id
  answer[#answer + 1] = records[i]
  answer[#answer + 1] = now - tonumber(found[2 * i])
end
return answer
