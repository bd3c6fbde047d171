#pragma once

#include "app/child_process.h"
#include "app/command.h"
#include "base/result.h"
#include "base/time.h"
#include "config/settings.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

namespace weir {

/// The processes of a demonstration, each our own binary; they end with it. The shop answers at every one of `urls`.
struct DemoServers {
  std::vector<ChildProcess> processes;
  std::vector<std::string> urls;

  [[nodiscard]] bool are_running();
  [[nodiscard]] std::vector<pid_t> pids() const;
};

/// Waits until every door shows all units of a new item as free: until then a gate is being built. `unavailable` when
/// that takes more than half a minute.
[[nodiscard]] Result<void> wait_for_stock(const DemoServers& servers, std::string_view item, std::int64_t units,
                                          const Clock& clock);

/// One server that needs no other: on the usual port if nobody has it and a person will type it, otherwise on any.
[[nodiscard]] Result<DemoServers> start_demo_server(CommandContext& context, bool is_once);

/// Two nodes and two workers on the stores that the settings name, after their ledger's schema was brought up to date.
[[nodiscard]] Result<DemoServers> start_demo_cluster(CommandContext& context, const Settings& settings);

}  // namespace weir
