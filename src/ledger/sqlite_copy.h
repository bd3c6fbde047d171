#pragma once

#include "base/result.h"
#include "base/time.h"

#include <optional>
#include <string>

namespace weir {

/// Whole copies of a ledger's file, and the mark by which a copy is known.
///
/// A copy carries the moment at which it was made. Wherever it comes to lie as a ledger, by `restore_ledger` or by
/// hand, it knows less than the world: units that were sold since look free in it. So it is served only after a person
/// has confirmed that gap.
///
/// Threads: any; there is no state but the files'. Blocking: waits for storage, longer for a large ledger.
/// Failures: `unfit` with the path and the reason; nothing that was there is lost.

/// Copies the ledger in `folder` as it is now, beside a server or without one, into `file`, which must not be there
/// yet.
[[nodiscard]] Result<void> back_up_ledger(const std::string& folder, const std::string& file, const Clock& clock);

struct Restored {
  Instant made_at;       // The copy.
  std::int64_t orders;   // In it.
  std::string replaced;  // Where the ledger lies that was in the folder; empty: there was none.
};

/// Makes the copy in `file` the ledger of `folder`, its gap not confirmed. A file without the mark of a copy is given
/// one, of the time at which it was last written. The ledger that was there is kept beside it under another name.
/// Refused while a process serves the folder. Its epoch passes that of the ledger it replaces.
[[nodiscard]] Result<Restored> restore_ledger(const std::string& folder, const std::string& file);

/// When the copy was made that the folder has as its ledger and that nobody has confirmed; null: it is no such copy.
[[nodiscard]] Result<std::optional<Instant>> unconfirmed_copy(const std::string& folder);

/// A person knows what is missing. Repeatable.
[[nodiscard]] Result<void> confirm_gap(const std::string& folder);

}  // namespace weir
