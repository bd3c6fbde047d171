#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <variant>

namespace weir::log {

enum class Level : std::uint8_t { debug, info, warn, error, off };  // `off` is the least level of who wants no lines.

using Value = std::variant<std::string_view, std::int64_t, double, bool>;

struct Field {
  std::string_view key;
  Value value;
};

/// Where lines go and the least level that is written. Call once, before threads start.
void start(Level least);

/// Writes one JSON line: time, level, event, then the fields in order. Control characters are escaped. The caller
/// never passes tokens, codes, secrets or whole URLs.
///
/// Threads: any. Blocking: a write to standard error.
void write(Level level, std::string_view event, std::initializer_list<Field> fields = {});

inline void info(std::string_view event, std::initializer_list<Field> fields = {}) {
  write(Level::info, event, fields);
}
inline void warn(std::string_view event, std::initializer_list<Field> fields = {}) {
  write(Level::warn, event, fields);
}
inline void error(std::string_view event, std::initializer_list<Field> fields = {}) {
  write(Level::error, event, fields);
}

}  // namespace weir::log
