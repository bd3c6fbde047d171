#include "ledger/ledger_conformance.h"
#include "ledger/postgres_test_cluster.h"

namespace weir {
namespace {

INSTANTIATE_TEST_SUITE_P(Postgres, LedgerConformance, testing::Values([]() -> std::unique_ptr<LedgerBed> {
                           return std::make_unique<PostgresBed>(*shared_cluster());
                         }));

}  // namespace
}  // namespace weir

int main(int argc, char** argv) { return weir::run_on_postgres(argc, argv); }
