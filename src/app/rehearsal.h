#pragma once

#include "base/result.h"
#include "base/time.h"
#include "crowd/crowd.h"
#include "crowd/plan.h"
#include "crowd/report.h"
#include "crowd/tokens.h"

#include <cstdint>
#include <string>

#include <sys/types.h>

namespace weir {

/// A rehearsal: a planned crowd at a running server, then the proof.
struct RehearsalOptions {
  std::string url;
  std::string item;
  std::string purchase_path;  // With the sale's key, when it has one.
  crowd::PlanOptions plan;
  std::size_t connections = 64;
  std::size_t depth = 64;
  bool keyed = false;
  std::string admin_token;   // For the audit.
  std::string report_file;   // HTML; empty: none. The same name with .json is written beside it.
  std::string history_file;  // Empty: not kept.
  pid_t server = -1;         // Its CPU is measured when it runs on this machine.
  bool is_quiet = false;     // No progress on standard error.
};

/// What a rehearsal came to.
struct Rehearsal {
  bool is_go = false;
  std::string json;     // The shape that the command line promises.
  std::string verdict;  // One sentence.
};

/// Runs it. Blocking: until the run and the audit are over. Progress goes to standard error: a bar on a terminal, plain
/// lines otherwise.
[[nodiscard]] Result<Rehearsal> rehearse(const RehearsalOptions& options, const crowd::TokenSource& tokens,
                                         const Clock& clock);

}  // namespace weir
