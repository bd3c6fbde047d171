#pragma once

#include "base/random.h"
#include "base/result.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace weir {

/// The bytes of a secret file without one trailing newline; nothing is decoded.
/// Failures: `unfit` when the file is missing, is no plain file, or holds fewer than kSecretBytesMin or more than
/// kSecretBytesMax bytes. The message names the setting and never the content.
[[nodiscard]] Result<std::string> read_secret_file(const std::string& path, std::string_view setting);

/// The same for a password that a store wants to hear: at least one byte, none of them zero.
[[nodiscard]] Result<std::string> read_password_file(const std::string& path, std::string_view setting);

/// Reads the secret, or makes it first if there is no such file: 32 random bytes as 64 hexadecimal digits, readable by
/// this user only, complete or absent whatever crashes. Two processes that begin at once end with the same secret.
/// Blocking: waits for storage. For the start of the process only.
[[nodiscard]] Result<std::string> read_or_make_secret_file(const std::string& path, std::string_view setting,
                                                           Random& random);

enum class SecretQuality : std::uint8_t {
  good,
  too_short,   // Under kSecretBytesMin bytes.
  sample,      // Contains a word of the samples that documentation and templates are full of.
  repetitive,  // Fewer than eight different bytes.
};

/// Judges the bytes of a key. Pure.
[[nodiscard]] SecretQuality judge_secret(std::string_view secret);

}  // namespace weir
