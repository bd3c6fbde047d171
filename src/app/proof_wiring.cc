#include "app/proof_wiring.h"

#include "app/distributed_wiring.h"

#include <memory>
#include <utility>

namespace weir {

ProofStores proof_stores(const Settings& settings, const Clock& clock, Random& random) {
  ProofStores stores;
  stores.ledger = [settings, &clock, &random] { return open_proving_ledger(settings, clock, random); };
  stores.reader = [settings, &clock] { return open_shared_reader(settings, clock); };
  stores.gate = [settings, &clock, &random](LedgerReader& reader) -> Result<std::unique_ptr<SharedGate>> {
    const auto catalog = reader.catalog();
    if (!catalog) return std::unexpected(catalog.error());
    const SipKey nobodys{random.next(), random.next()};  // Buyers are told apart by their names here.
    return open_shared_gate(settings, ledger_name(*catalog), nobodys, clock);
  };
  stores.log = [settings, &clock] { return open_log_producer(settings, {}, clock); };
  stores.letters = [settings, &clock] { return open_dead_letters(settings, clock); };
  stores.log_end = [settings, &clock] { return open_log_end(settings, clock); };
  return stores;
}

}  // namespace weir
