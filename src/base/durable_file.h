#pragma once

#include "base/result.h"

#include <string>

namespace weir {

/// Gives a written draft its final name, so that a power cut leaves the whole file under it or none: the draft is
/// synced, then named, then the folder is synced. A file that has the name already is left as it is.
///
/// True: the draft got the name. False: another file has it, and that name is durable now. The draft's own name is gone
/// in either case, and also after a failure.
/// Blocking: waits for storage. Failures: `unavailable` with the path and the system's reason; the name may or may not
/// be there after a folder that could not be synced.
[[nodiscard]] Result<bool> publish_draft(const std::string& draft, const std::string& path);

/// The same for a file that may be replaced: whoever opens `path` finds the old file or the new one, whole.
[[nodiscard]] Result<void> replace_with_draft(const std::string& draft, const std::string& path);

/// Makes what was named in or removed from the folder of `path` durable. Blocking, failures: as above.
[[nodiscard]] Result<void> sync_folder_of(const std::string& path);

}  // namespace weir
