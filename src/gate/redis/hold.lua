-- One hold by its id: its record and whether it is in flight; nothing more if there is none.

local refusal, meta = guard('open')
if refusal then return refusal end

local record = redis.call('HGET', HELD, ARGV[OWN])
if not record then return {'ok', meta.seq} end
return {'ok', meta.seq, record, redis.call('ZSCORE', INFLIGHT, ARGV[OWN]) and 1 or 0}
