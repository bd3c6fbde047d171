#pragma once

namespace weir {

/// From now on a failed allocation ends the process with a sentence, as a power cut would and nothing else: what was
/// promised is in the ledger, and the next start goes on from there. No half-done step is carried on, and no exception
/// passes through a library that does not expect it. Exit code 3.
void end_when_memory_ends();

}  // namespace weir
