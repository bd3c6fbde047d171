#include "app/wiring.h"
#include "metrics/names.h"
#include "metrics/process_use.h"
#include "metrics/text_exposition.h"

namespace weir {

std::string Shop::metrics_text() {
  TextExposition out;
  const auto add = [&](const Metric& metric, auto count) { out.add(metric, static_cast<double>(count)); };
  {
    const std::lock_guard lock{ports_mutex_};
    for (const http::CodeText& code : http::kCodes) {
      std::uint64_t count = 0;
      for (const http::FrontDoor* door : doors_)
        count += door->outcomes().by_code[static_cast<std::size_t>(code.code)].load(std::memory_order_relaxed);
      out.add(metric::kHttpOutcomes, code.code, static_cast<double>(count));
    }
  }
  const http::ServerCounts server = server_->counts();
  add(metric::kHttpOpen, server.open);
  add(metric::kHttpAccepted, server.accepted);
  add(metric::kHttpRequests, server.requests);
  add(metric::kHttpMalformed, server.malformed);
  add(metric::kHttpTimedOut, server.timed_out);
  add(metric::kHttpAnswersLate, server.answer_late);
  seller_->add_metrics(out);
  add(metric::kClockStep, static_cast<double>(clock_.step().count()) / 1e6);
  add(metric::kStartTime, static_cast<double>(started_at_.us) / 1e6);
  const ProcessUse use = read_process_use();
  add(metric::kProcessCpu, use.cpu_seconds);
  add(metric::kProcessResident, use.resident_bytes);
  return out.text();
}

}  // namespace weir
