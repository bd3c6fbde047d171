#pragma once

#include "base/result.h"
#include "base/time.h"
#include "crowd/report.h"
#include "crowd/tokens.h"

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include <sys/types.h>

namespace weir {

/// What a rehearsal is asked to do. The server is any that speaks our API; its process may be another machine's.
struct RehearsalOrder {
  std::string url;                     // Origin, `http://host[:port]`.
  std::vector<std::string> more_urls;  // Other nodes of the same shop: the crowd is spread over all of them.
  std::string item;                    // The item that everybody wants.
  crowd::PlanOptions crowd;
  std::size_t connections = 1'024;  // A claim that waits for the disk holds up its connection, as behind any proxy.
  std::size_t depth = 16;           // Requests on their way per connection.
  std::int32_t units_per_claim = 1;
  bool is_keyed = true;         // Presses carry an Idempotency-Key, as the shop's page sends it.
  bool are_buyers_new = false;  // Nobody of this crowd can hold an order from before.
  std::string admin_token;      // Empty: no audit, and so no GO.
  Micros record_wait{0};        // With new buyers: until then every promised order must be in the ledger; 0: not asked.
  std::vector<pid_t> servers;   // For CPU and memory, added up; empty: not known.
  bool shows_progress = true;   // On standard error: a bar on a terminal, plain lines otherwise.
  const std::atomic<bool>* stop = nullptr;
};

/// What came of it. `input` points at `run`: the whole is neither copied nor moved.
struct Rehearsal {
  Rehearsal() = default;
  Rehearsal(const Rehearsal&) = delete;
  Rehearsal& operator=(const Rehearsal&) = delete;

  crowd::RunResult run;
  crowd::ReportInput input;
  crowd::Verdict verdict;
};

/// Sends the crowd at the item, reads the server's own audit, and holds every single answer against the promises of
/// the sale. If the sale opens within ten minutes the crowd waits for that moment, as a real one does.
///
/// Blocking: until the crowd is through, at most its span, the wait for the opening and about a minute. Fails with
/// `unavailable` if the server does not answer, `unfit` if the item is not there to be bought or an option is out of
/// range.
[[nodiscard]] Result<void> rehearse(const RehearsalOrder& order, const crowd::TokenSource& tokens, const Clock& clock,
                                    Rehearsal& out);

/// The verdict and the figures, for a person.
[[nodiscard]] std::string rehearsal_text(const Rehearsal& rehearsal);

/// Processor and kernel of this machine, for the head of a report.
[[nodiscard]] std::string machine_text();

}  // namespace weir
