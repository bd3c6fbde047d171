#pragma once

#include "http/answers.h"
#include "http/exchange.h"
#include "http/routes.h"
#include "http/services.h"

namespace weir::http {

/// The operations listener: metrics, health, readiness. Its address is loopback unless the operator says otherwise.
///
/// Threads: its reactor's only. Blocking: never; metrics are counters that are read, not computed.
class OpsApi final : public Handler {
 public:
  explicit OpsApi(Services& services) : services_(services) {}

  void handle(const Request& request, Exchange& exchange) override;
  void on_loop(Instant, Ticks) override {}

 private:
  Services& services_;
};

}  // namespace weir::http
