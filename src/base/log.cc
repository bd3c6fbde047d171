#include "base/log.h"

#include "base/json_text.h"

#include <array>
#include <atomic>

#include <fmt/format.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

namespace weir::log {
namespace {

constexpr std::array kNames{"debug", "info", "warn", "error"};
constexpr std::array kSpdlog{spdlog::level::debug, spdlog::level::info, spdlog::level::warn, spdlog::level::err};

std::atomic<Level> g_least{Level::info};

spdlog::logger& sink() {
  // The library's own time stamp opens the line; everything after it is ours.
  static const auto logger = [] {
    auto made = std::make_shared<spdlog::logger>("weir", std::make_shared<spdlog::sinks::stderr_sink_mt>());
    made->set_pattern(R"({"time":"%Y-%m-%dT%H:%M:%S.%eZ",%v})", spdlog::pattern_time_type::utc);
    made->set_level(spdlog::level::debug);
    return made;
  }();
  return *logger;
}

void append_value(std::string& line, const Value& value) {
  if (const auto* text = std::get_if<std::string_view>(&value)) append_json_string(line, *text);
  if (const auto* whole = std::get_if<std::int64_t>(&value)) fmt::format_to(std::back_inserter(line), "{}", *whole);
  if (const auto* real = std::get_if<double>(&value)) fmt::format_to(std::back_inserter(line), "{}", *real);
  if (const auto* flag = std::get_if<bool>(&value)) line += *flag ? "true" : "false";
}

}  // namespace

void start(Level least) { g_least.store(least); }

void write(Level level, std::string_view event, std::initializer_list<Field> fields) {
  if (level < g_least.load(std::memory_order_relaxed)) return;
  const auto index = static_cast<std::size_t>(level);
  std::string line = fmt::format(R"("level":"{}","event":)", kNames.at(index));
  append_json_string(line, event);
  for (const Field& field : fields) {
    line += ',';
    append_json_string(line, field.key);
    line += ':';
    append_value(line, field.value);
  }
  sink().log(kSpdlog.at(index), "{}", line);
}

}  // namespace weir::log
