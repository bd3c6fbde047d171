#include "app/reconcile_run.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace weir {
namespace {

constexpr Micros kPause{250'000};
constexpr Micros kSlack{500'000};        // What was first seen so soon after the beginning counts as seen then.
constexpr int kFailuresMax = 5;          // In a row.
constexpr Micros kPatience{10'000'000};  // With what cannot be compared: a client that connects, a build that ends.

std::int64_t whole(const boost::json::object& answer, std::string_view member) {
  const auto* found = answer.if_contains(member);
  return found != nullptr && found->is_int64() ? found->as_int64() : 0;
}

const boost::json::array& list(const boost::json::object& answer, std::string_view member) {
  static const boost::json::array kEmpty;
  const auto* found = answer.if_contains(member);
  return found != nullptr && found->is_array() ? found->as_array() : kEmpty;
}

std::string_view text(const boost::json::object& finding, std::string_view member) {
  const auto* found = finding.if_contains(member);
  return found != nullptr && found->is_string() ? std::string_view{found->as_string()} : std::string_view{};
}

bool is_repaired(const boost::json::object& finding) {
  const auto* found = finding.if_contains("repaired");
  return found != nullptr && found->is_bool() && found->as_bool();
}

std::string key_of(const boost::json::object& finding) {
  const std::string_view order = text(finding, "orderId");
  return std::string{text(finding, "what")} + " " + std::string{order.empty() ? text(finding, "detail") : order};
}

}  // namespace

Result<boost::json::object> ReconcileRun::run() {
  const Ticks begun = clock_.ticks();
  int failures = 0;
  for (;;) {  // kReconcileRunMax ends it.
    const auto answer = look_();
    boost::system::error_code unreadable;
    boost::json::value parsed = answer ? boost::json::parse(*answer, unreadable) : boost::json::value{};
    const Micros passed = clock_.ticks() - begun;
    if (parsed.is_object()) {
      failures = 0;
      take(std::move(parsed.as_object()));
    } else if (!answer && (answer.error().failure == Failure::unfit || ++failures == kFailuresMax)) {
      return std::unexpected(answer.error());
    } else if (answer) {
      return fail(Failure::unavailable, "the answer is no JSON: " + *answer);
    }
    const bool is_next = failures > 0 ? passed < kReconcileRunMax : goes_on(passed);
    if (!is_next) {
      if (failures > 0) return std::unexpected(answer.error());
      conclude(passed);
      return std::move(last_);
    }
    pause_(kPause);
  }
}

void ReconcileRun::take(boost::json::object answer) {
  last_ = std::move(answer);
  asks_for_build_ = false;
  for (const boost::json::value& one : list(last_, "findings")) {
    const boost::json::object& finding = one.as_object();
    if (!is_repaired(finding)) continue;
    repaired_[key_of(finding)] = finding;
    asks_for_build_ = asks_for_build_ || text(finding, "repair").ends_with("builds the next one");
  }
  has_asked_for_build_ = has_asked_for_build_ || asks_for_build_;
}

bool ReconcileRun::goes_on(Micros passed) const {
  if (passed >= kReconcileRunMax) return false;
  const bool is_patient = has_asked_for_build_ || passed < kPatience;
  if (asks_for_build_ || (is_patient && !list(last_, "notCompared").empty())) return true;
  return whole(last_, "waiting") > 0 && Micros{whole(last_, "waitingMs") * 1000} + kSlack >= passed;
}

void ReconcileRun::conclude(Micros passed) {
  const bool is_judged = whole(last_, "waiting") == 0 || Micros{whole(last_, "waitingMs") * 1000} + kSlack < passed;
  is_whole_ =
      is_judged && list(last_, "notCompared").empty() &&
      std::ranges::all_of(list(last_, "findings"), [](const auto& one) { return is_repaired(one.as_object()); });
  boost::json::array all;
  for (auto& [key, finding] : repaired_) all.push_back(finding);
  for (const boost::json::value& one : list(last_, "findings")) {
    if (!is_repaired(one.as_object())) all.push_back(one);
  }
  if (!all.empty()) last_["ok"] = false;
  for (const boost::json::value& one : all) {
    const std::string_view what = text(one.as_object(), "what");
    const bool is_gate_only = what == "GATE_ONLY" || what == "UNRELEASED";
    if (!is_gate_only && what != "LEDGER_ONLY") continue;
    auto& ids = last_[is_gate_only ? "gateOnly" : "ledgerOnly"].as_array();
    const auto& id = one.as_object().at("orderId");
    if (std::ranges::find(ids, id) == ids.end()) ids.push_back(id);
  }
  last_["findings"] = std::move(all);
}

}  // namespace weir
