#pragma once

#include <string>
#include <string_view>

namespace weir {

/// A Lua script and the name under which a server that has seen it keeps it.
struct RedisScript {
  std::string text;
  std::string sha;  // SHA-1 of the text, 40 lower-case digits.

  /// Several parts, one after the other.
  [[nodiscard]] static RedisScript of(std::initializer_list<std::string_view> parts);
};

/// All scripts of the gate. They stand in `redis/*.lua`, each with what it does.
struct RedisScripts {
  RedisScript reserve, adopt, restore, release, confirm, sell, restock, terms, shelf, hold, in_flight, look;
  RedisScript close, start_build, remember, open_epoch, drop_older;

  RedisScripts();
};

}  // namespace weir
