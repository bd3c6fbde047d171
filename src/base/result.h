#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <utility>

namespace weir {

/// Why an answer could not be had. Grouped by what the caller does next, not by what broke.
enum class Failure : std::uint8_t {
  unavailable,  // Nothing happened. Try again later, backing off.
  overloaded,   // A bounded queue is full; nothing happened. Shed this work.
  timed_out,    // It may have happened. Ask again with the same ids to find out.
  corrupt,      // Stored data breaks an invariant. Stop and call a person.
  unfit,        // The environment or a setting is wrong: tell the operator which, and what would change it.
};

[[nodiscard]] constexpr std::string_view name(Failure failure) {
  switch (failure) {
    case Failure::unavailable: return "unavailable";
    case Failure::overloaded: return "overloaded";
    case Failure::timed_out: return "timed_out";
    case Failure::corrupt: return "corrupt";
    case Failure::unfit: return "unfit";
  }
  return "?";
}

/// A failure and a sentence for the operator: what failed, with which value, and which setting would change it.
struct Error {
  Failure failure;
  std::string message;
};

template <typename T>
using Result = std::expected<T, Error>;

[[nodiscard]] inline std::unexpected<Error> fail(Failure failure, std::string message) {
  return std::unexpected<Error>(Error{failure, std::move(message)});
}

/// The outcome of reading text from outside: the value, or one sentence that says what is wrong with it.
template <typename T>
using Parsed = std::expected<T, std::string>;

}  // namespace weir
