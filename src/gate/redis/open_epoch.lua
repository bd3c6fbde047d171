-- Opens the gate at this epoch, if all of it is there.

local refusal, meta = guard('closed')
if refusal and refusal[1] == 'already_open' then refusal, meta = guard('open') end
if refusal then return refusal end
if meta.state == 'open' then return {'ok', meta.seq} end

local seq = redis.call('HINCRBY', META, 'seq', 1)
redis.call('HSET', META, 'state', 'open')
return {'ok', seq}
