#pragma once

#include "base/result.h"

#include <string>
#include <utility>

namespace weir {

/// A folder that goes away with its owner, on a file system that keeps what is synced (`TMPDIR`, otherwise /var/tmp).
class TemporaryFolder {
 public:
  [[nodiscard]] static Result<TemporaryFolder> make();
  TemporaryFolder(TemporaryFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  TemporaryFolder& operator=(TemporaryFolder&&) = delete;
  ~TemporaryFolder();

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  explicit TemporaryFolder(std::string path) : path_(std::move(path)) {}

  std::string path_;
};

/// Nobody listens on this port of the loopback address at this moment.
[[nodiscard]] bool is_free_port(int port);

}  // namespace weir
