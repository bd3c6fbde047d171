#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weir::crowd {

/// What a report shows of the server's own audit.
struct AuditSummary {
  struct Invariant {
    std::string id;
    std::int64_t checked = 0;
    std::size_t violations = 0;
    std::string first_violation;  // Its JSON text, shortened.
  };
  bool is_read = false;  // The text was an audit.
  bool is_ok = false;
  std::vector<Invariant> invariants;
};

/// Reads the answer of `GET /api/admin/audit`. Any other text gives an unread summary, never a failure: a report
/// without an audit is still a report, and says so.
[[nodiscard]] AuditSummary read_audit(std::string_view json);

}  // namespace weir::crowd
