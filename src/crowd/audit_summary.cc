#include "crowd/audit_summary.h"

#include "config/limits.h"

#include <boost/json.hpp>

namespace weir::crowd {
namespace {

namespace json = boost::json;

constexpr std::size_t kViolationBytesMax = 200;

AuditSummary::Invariant read_invariant(const json::object& from) {
  AuditSummary::Invariant invariant;
  if (const auto* id = from.if_contains("id"); id != nullptr && id->is_string()) invariant.id = id->get_string();
  if (const auto* checked = from.if_contains("checked"); checked != nullptr && checked->is_int64()) {
    invariant.checked = checked->get_int64();
  }
  const auto* violations = from.if_contains("violations");
  if (violations == nullptr || !violations->is_array()) return invariant;
  invariant.violations = violations->get_array().size();
  if (invariant.violations == 0) return invariant;
  const json::value& first = violations->get_array().front();
  invariant.first_violation = first.is_string() ? std::string(first.get_string()) : json::serialize(first);
  invariant.first_violation.resize(std::min(invariant.first_violation.size(), kViolationBytesMax));
  return invariant;
}

}  // namespace

AuditSummary read_audit(std::string_view text) {
  AuditSummary summary;
  json::error_code error;
  json::parse_options options;
  options.max_depth = kJsonDepthMax;
  const json::value value = json::parse({text.data(), text.size()}, error, {}, options);
  if (error || !value.is_object()) return summary;
  const auto* ok = value.get_object().if_contains("ok");
  const auto* invariants = value.get_object().if_contains("invariants");
  if (ok == nullptr || !ok->is_bool() || invariants == nullptr || !invariants->is_array()) return summary;
  summary.is_read = true;
  summary.is_ok = ok->get_bool();
  for (const json::value& invariant : invariants->get_array()) {
    if (invariant.is_object()) summary.invariants.push_back(read_invariant(invariant.get_object()));
  }
  return summary;
}

}  // namespace weir::crowd
