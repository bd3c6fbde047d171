#pragma once

#include "config/limits.h"

#include <cstdint>
#include <functional>
#include <string>

namespace weir {

/// Where a ledger lies and how it is opened.
struct SqliteOptions {
  std::string data{};                                // The folder. It is made if it is missing.
  std::string vfs{};                                 // Empty: the machine's. Tests hand in a simulated disk.
  bool uses_lock = true;                             // Off only on a simulated disk.
  std::int64_t reserve_bytes = kLedgerReserveBytes;  // Kept free for payments when the disk fills up. 0: nothing.
  std::int64_t log_bytes_max = kLedgerLogBytesMax;   // No claims beyond it, until the log could be copied.
  std::function<std::int64_t()> free_bytes{};        // Of the disk; empty: asked of the file system.
};

}  // namespace weir
