#pragma once

#include "base/random.h"
#include "base/result.h"
#include "base/time.h"
#include "ledger/ledger.h"
#include "ledger/postgres_options.h"
#include "ledger/sqlite_options.h"

#include <cstdint>
#include <string>
#include <vector>

namespace weir {

/// Rows of one table that were moved.
struct MovedTable {
  std::string table;
  std::int64_t rows = 0;
};

struct LedgerMove {
  std::vector<MovedTable> tables;
  AuditReport audit;  // Of the new ledger; the old one's says the same.
};

/// Moves a stopped shop's ledger from its folder into an empty PostgreSQL database, whose schema is up to date.
///
/// All of it in one transaction, which is committed only after an audit of both has found every invariant whole and
/// the same counts: the target has the whole ledger or nothing. The folder is left as it is; whoever serves it
/// afterwards sells the same units twice, which nobody but the operator can prevent.
/// Blocking: until it is done, at most kPostgresMoveUsMax. Failures: `unfit` when a process serves the folder, the
/// folder has no ledger, one of its items has numbers, the target holds a ledger, or the two do not agree; `timed_out`
/// when the commit is unknown: ask again, a target that is not empty was moved to.
[[nodiscard]] Result<LedgerMove> move_ledger(const SqliteOptions& from, const PostgresOptions& to, const Clock& clock,
                                             Random& random);

}  // namespace weir
