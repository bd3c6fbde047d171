#pragma once

#include <string>

namespace weir {

/// Where a ledger on PostgreSQL lies and how it is used.
struct PostgresOptions {
  std::string dsn{};        // As libpq takes it, also a URI. TLS by `sslmode` and its companions.
  bool sells_alone = true;  // The gate lives in this process: a second writer is refused. Off: gate and log are shared.

  // For tests only.
  bool takes_time_from_clock = false;  // Deadlines are compared by the clock that is handed in, not by the server's.
  bool allows_unsafe_storage = false;  // `fsync` may be off.
};

}  // namespace weir
