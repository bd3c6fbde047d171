#pragma once

#include "base/result.h"
#include "base/time.h"
#include "domain/ids.h"
#include "flow/build_gate.h"
#include "gate/shared_gate.h"
#include "ledger/ledger_proofs.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weir {

/// One thing that is known of an order: when, and who says so (`ledger`, `gate`, `log`).
struct TraceLine {
  Instant at;
  std::string_view source;
  std::string what;
  std::string detail;  // For a person.
};

/// Everything that is known of one order.
struct Explained {
  std::vector<TraceLine> lines;    // Oldest first; how it stands now comes last.
  std::optional<TenantNo> tenant;  // Null: neither ledger nor gate knows such an order.
  bool is_complete = true;         // False: somebody could not be asked, as a line says.
};

/// What the ledger has of an order's life; without lines when there is no such order.
[[nodiscard]] Result<Explained> explain_from_ledger(OrderId order, LedgerReader& reader);

/// What is asked beside the ledger's rows. Null is a store that could not be reached; the sentence says why.
struct ExplainParts {
  LedgerReader& reader;
  ProvingLedger& ledger;
  SharedGate* gate = nullptr;
  std::string no_gate;
  AskMarks ask_log_end;  // Empty: there is none, or it was not reached.
  std::string no_log;
};

/// The whole life of an order across ledger, gate and log. It changes nothing and may run beside everything.
///
/// The gate is asked after the ledger and the log's end after the gate: an order that none of them knows was never
/// admitted, if all of them could be asked. Blocking: a few questions to each, up to a deadline each. Fails only when
/// the ledger does: without it nobody knows where the gates stand.
[[nodiscard]] Result<Explained> explain(OrderId order, const ExplainParts& parts, const Clock& clock);

}  // namespace weir
