#pragma once

#include <cstdio>
#include <cstdlib>

#include <fmt/format.h>

namespace weir {

/// Prints what did not hold, with its values, and stops the process. For bugs only: a state that our own code must
/// never reach. Input from outside never reaches a CHECK; it gets a refusal.
[[noreturn]] inline void check_failed(const char* file, int line, const char* condition, const std::string& values) {
  std::fprintf(stderr, "%s:%d: check failed: %s%s%s\n", file, line, condition, values.empty() ? "" : ": ",
               values.c_str());
  std::fflush(stderr);
  std::abort();
}

template <typename... Args>
[[nodiscard]] std::string check_values(fmt::format_string<Args...> text, Args&&... args) {
  return fmt::format(text, std::forward<Args>(args)...);
}
[[nodiscard]] inline std::string check_values() { return {}; }

}  // namespace weir

/// CHECK(units <= free, "units={} free={}", units, free). On in every build.
#define CHECK(condition, ...)                                                                  \
  do {                                                                                         \
    if (!(condition)) [[unlikely]]                                                             \
      ::weir::check_failed(__FILE__, __LINE__, #condition, ::weir::check_values(__VA_ARGS__)); \
  } while (false)
