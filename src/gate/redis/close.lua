-- Closes the gate at this epoch, or at any older one. The first step of every build, so it also makes `meta` anew where
-- it is lost. A newer epoch is left alone.

local meta = read_meta()
if meta and meta.ledger and meta.ledger ~= ARGV[3] then return {'foreign', meta.seq or 0, meta.ledger} end
local standing = meta and tonumber(meta.epoch) or 0
if standing > tonumber(ARGV[1]) then return {'wrong_epoch', meta.seq or 0, meta.epoch} end

if not meta then redis.call('UNLINK', META) end
redis.call('HSET', META, 'epoch', ARGV[1], 'layout', ARGV[2], 'ledger', ARGV[3], 'state', 'closed')
redis.call('HSETNX', META, 'oldest', ARGV[OWN])
if meta and meta.seq then return {'ok', redis.call('HINCRBY', META, 'seq', 1)} end
redis.call('HSET', META, 'seq', 1)
return {'ok', 1}
