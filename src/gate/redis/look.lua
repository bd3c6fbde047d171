-- Says what stands there, whatever the caller's epoch.

local meta = read_meta()
if not meta or not meta.epoch then return {'ok', 0, '0', '0', 0, 0, 1, 0, '', 1} end
local lacks = not meta.seq or not meta.state
if meta.state == 'open' then  -- One that is being built lacks things for a while.
  lacks = lacks or not meta.limit or not meta.terms or (meta.epoch == ARGV[1] and not is_whole())
end
return {'ok', meta.seq or 0, meta.epoch, meta.layout or '0', meta.state == 'open' and 1 or 0, meta.selling and 1 or 0,
        lacks and 1 or 0, meta.limit or 0, meta.ledger or '', meta.oldest or 1}
