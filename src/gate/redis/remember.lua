-- Adds to what a build remembers: 'ended' or 'changes', then the members.

local refusal = guard('closed')
if refusal then return refusal end

local members = {}
for at = OWN + 1, #ARGV do members[#members + 1] = ARGV[at] end
local seq = redis.call('HINCRBY', META, 'seq', 1)
call_in_parts('SADD', ARGV[OWN] == 'ended' and ENDED or CHANGES, members, 1)
return {'ok', seq}
