#include "ledger/ledger_conformance.h"
#include "ledger/ledger_number_conformance.h"
#include "ledger/sqlite_bed.h"

namespace weir {
namespace {

std::string bed_name(const testing::TestParamInfo<LedgerMaker>& info) {
  return info.index == 0 ? "Files" : "FaultDisk";
}

auto beds() {
  return testing::Values([]() -> std::unique_ptr<LedgerBed> { return std::make_unique<SqliteFileBed>(); },
                         []() -> std::unique_ptr<LedgerBed> { return std::make_unique<SqliteDiskBed>(); });
}

INSTANTIATE_TEST_SUITE_P(Sqlite, LedgerConformance, beds(), bed_name);
INSTANTIATE_TEST_SUITE_P(Sqlite, LedgerNumbers, beds(), bed_name);

}  // namespace
}  // namespace weir
