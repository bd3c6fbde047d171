#pragma once

#include "base/result.h"

#include <string>
#include <string_view>

namespace weir {

/// The one token in a file, for `--token-file`. Fails with `unfit`.
[[nodiscard]] Result<std::string> read_token_file(const std::string& path);

/// Asks a running server, for commands with `--url`.
///
/// Threads: one owner thread. Blocking: waits for the network, at most ten seconds a call.
class ApiClient {
 public:
  struct Answer {
    int status = 0;
    std::string body;
  };

  /// `token_file` holds one token; empty: none is sent.
  [[nodiscard]] static Result<ApiClient> make(std::string url, const std::string& token_file);

  [[nodiscard]] Result<Answer> get(std::string_view path) const;
  [[nodiscard]] Result<Answer> post(std::string_view path, std::string_view body) const;

  void set_token(std::string token) { token_ = std::move(token); }

 private:
  [[nodiscard]] Result<Answer> send(std::string_view path, const std::string* body) const;

  std::string url_;
  std::string token_;
};

}  // namespace weir
