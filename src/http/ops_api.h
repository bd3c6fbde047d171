#pragma once

#include "http/answers.h"
#include "http/exchange.h"
#include "http/routes.h"
#include "http/services.h"

#include <functional>
#include <string>
#include <utility>

namespace weir::http {

/// The operations listener: metrics, health, readiness. Its address is loopback unless the operator says otherwise.
///
/// Threads: its reactor's only. Blocking: never; metrics are counters that are read, not computed.
class OpsApi final : public Handler {
 public:
  /// What the listener asks; both may be called at any time and do not wait.
  struct Questions {
    std::function<bool()> is_ready;
    std::function<std::string()> metrics_text;
  };
  explicit OpsApi(Questions questions) : questions_(std::move(questions)) {}
  explicit OpsApi(Services& services)
      : OpsApi(Questions{.is_ready = [&services] { return services.is_ready(); },
                         .metrics_text = [&services] { return services.metrics_text(); }}) {}

  void handle(const Request& request, Exchange& exchange) override;
  void on_loop(Instant, Ticks) override {}

 private:
  const Questions questions_;
};

}  // namespace weir::http
