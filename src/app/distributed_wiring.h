#pragma once

#include "base/random.h"
#include "base/result.h"
#include "base/siphash.h"
#include "base/time.h"
#include "config/doctor.h"
#include "config/settings.h"
#include "domain/catalog.h"
#include "flow/build_gate.h"
#include "gate/shared_gate.h"
#include "ledger/ledger_proofs.h"
#include "ledger/postgres_options.h"
#include "ledger/shared_ledger.h"
#include "queue/log_queue.h"

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

/// Opens the stores that several processes share, as the settings name them.
///
/// Failures: `unfit` for a setting or a server that is wrong, with its name; `unavailable` for a server that was not
/// reached. Every clock, random source and callback outlives what it was handed to.
namespace weir {

/// How the ledger is reached, its password included. It sells alone unless the gate is shared.
[[nodiscard]] Result<PostgresOptions> postgres_options(const Settings& settings);

/// The ledger's schema brought up to date; its version.
[[nodiscard]] Result<std::int64_t> migrate_ledger(const Settings& settings, const Clock& clock, Random& random);
[[nodiscard]] Result<std::unique_ptr<SharedLedger>> open_shared_ledger(const Settings& settings, const Clock& clock,
                                                                       Random& random);
/// The same ledger, to be asked for an account of itself.
[[nodiscard]] Result<std::unique_ptr<ProvingLedger>> open_proving_ledger(const Settings& settings, const Clock& clock,
                                                                         Random& random);
[[nodiscard]] Result<std::unique_ptr<LedgerReader>> open_shared_reader(const Settings& settings, const Clock& clock);

/// A name for the ledger behind this catalog, the same in every process and for ever: a gate that bears another
/// ledger's name is never touched.
[[nodiscard]] std::string ledger_name(const Catalog& catalog);

/// `ledger`: see `ledger_name`. `buyer_hash`: the process's own, for holds that it lists.
[[nodiscard]] Result<std::unique_ptr<SharedGate>> open_shared_gate(const Settings& settings, std::string ledger,
                                                                   const SipKey& buyer_hash, const Clock& clock);

/// `wake` is called from any thread when outcomes may have arrived; empty: nobody waits for them.
[[nodiscard]] Result<std::unique_ptr<LogProducer>> open_log_producer(const Settings& settings,
                                                                     std::function<void()> wake, const Clock& clock);
[[nodiscard]] Result<std::unique_ptr<LogConsumer>> open_log_consumer(const Settings& settings, const Clock& clock);
/// Asks where the log ends, and takes no partition from a worker. One thread at a time.
[[nodiscard]] Result<AskMarks> open_log_end(const Settings& settings, const Clock& clock);
[[nodiscard]] Result<std::unique_ptr<DeadLetters>> open_dead_letters(const Settings& settings, const Clock& clock);

/// What is unfit about the topics of the log, asked from its brokers. Blocking: up to the deadline.
[[nodiscard]] Result<std::vector<Finding>> examine_log(const Settings& settings, const Clock& clock, Deadline deadline);

}  // namespace weir
