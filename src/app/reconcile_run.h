#pragma once

#include "base/result.h"
#include "base/time.h"

#include <functional>
#include <map>
#include <string>

#include <boost/json.hpp>

namespace weir {

/// A whole run of `weir reconcile`: it looks again until all that the first look saw has been judged, and, where a gate
/// is built anew, until it can be compared again.
///
/// What only comes up while it looks is not waited for: in a rush there is always something under way.
/// Threads: one owner. Blocking: as the looks and pauses, at most kReconcileRunMax and one look.
class ReconcileRun {
 public:
  /// One look, as `POST /api/admin/reconcile` answers it.
  using Look = std::function<Result<std::string>()>;

  ReconcileRun(Look look, const Clock& clock, std::function<void(Micros)> pause)
      : look_(std::move(look)), clock_(clock), pause_(std::move(pause)) {}

  /// The last look's answer; `findings` has besides what the looks before it have repaired. Fails when nobody answers.
  [[nodiscard]] Result<boost::json::object> run();
  /// Of a run: nothing that it saw is left as it was, and everything could be compared.
  [[nodiscard]] bool is_whole() const { return is_whole_; }

 private:
  void take(boost::json::object answer);
  [[nodiscard]] bool goes_on(Micros passed) const;
  void conclude(Micros passed);

  Look look_;
  const Clock& clock_;
  std::function<void(Micros)> pause_;
  boost::json::object last_;
  std::map<std::string, boost::json::object> repaired_;  // By what and which.
  bool asks_for_build_ = false;                          // The last look has closed a gate.
  bool has_asked_for_build_ = false;
  bool is_whole_ = false;
};

inline constexpr Micros kReconcileRunMax{60'000'000};

}  // namespace weir
