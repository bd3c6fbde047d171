#pragma once

#include "base/time.h"
#include "http/services.h"
#include "metrics/text_exposition.h"

#include <cstdint>
#include <functional>
#include <string>

namespace weir {

/// What sells in this process, behind its front door: the embedded engine, or a node on a shared gate.
///
/// Threads: those of `Services` from any; the rest from the owner.
class Seller : public http::Services {
 public:
  /// `wake_reactor` and `mailbox` belong to the front door; they must outlive `stop`.
  virtual void start(http::Mailbox& mailbox, std::function<void(std::uint16_t)> wake_reactor) = 0;
  /// Once a second: takes up what no request does.
  virtual void look_around() = 0;
  /// Finishes what is under way, up to `deadline`, then joins every thread. Repeatable.
  virtual void stop(Deadline deadline) = 0;
  /// Whoever knows the front door's figures as well makes the whole text, once `start` has been called.
  virtual void set_metrics(std::function<std::string()> metrics) = 0;
  /// Adds its own figures.
  virtual void add_metrics(TextExposition& out) = 0;
};

}  // namespace weir
