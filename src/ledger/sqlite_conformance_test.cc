#include "ledger/ledger_conformance.h"
#include "ledger/sqlite_bed.h"

namespace weir {
namespace {

std::string bed_name(const testing::TestParamInfo<LedgerMaker>& info) {
  return info.index == 0 ? "Files" : "FaultDisk";
}

INSTANTIATE_TEST_SUITE_P(
    Sqlite, LedgerConformance,
    testing::Values([]() -> std::unique_ptr<LedgerBed> { return std::make_unique<SqliteFileBed>(); },
                    []() -> std::unique_ptr<LedgerBed> { return std::make_unique<SqliteDiskBed>(); }),
    bed_name);

}  // namespace
}  // namespace weir
