#pragma once

#include "config/secret_file.h"
#include "config/settings.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weir {

/// How bad a finding is. Only `fatal` ones refuse the start, and only in production mode.
enum class Severity : std::uint8_t { advice, warning, fatal };

[[nodiscard]] constexpr std::string_view name(Severity severity) {
  switch (severity) {
    case Severity::advice: return "advice";
    case Severity::warning: return "warning";
    case Severity::fatal: return "fatal";
  }
  return "?";
}

/// One unfit setting, or one fact of the machine that makes a setting unfit.
struct Finding {
  Severity severity = Severity::advice;
  std::string setting;  // What to change: a key, or a word such as `machine.clock`.
  std::string message;  // One sentence: what is wrong, with which value, and what helps. Never a secret.
};

enum class Filesystem : std::uint8_t { disk, memory, network, unknown };

/// What is known about a file or folder. Permissions are the nine bits of `chmod`.
struct FileFacts {
  bool exists = false;
  bool is_ours = true;  // Owned by the user that runs weir.
  std::uint32_t permissions = 0;
  std::uint64_t device = 0;  // With `inode`: which file it is, whatever its name.
  std::uint64_t inode = 0;
};

struct KeyFile {
  std::string setting;
  std::string path;
  FileFacts facts;
  bool is_public = false;  // Public keys: reading them is no harm, writing them is.
  SecretQuality quality = SecretQuality::good;
  std::uint64_t content_hash = 0;  // Tells copies of one secret apart from two secrets; 0: not known.
};

/// The machine as the process found it. Gathered elsewhere, so that what is made of it is a pure function.
struct Machine {
  std::vector<KeyFile> keys;  // Every key file that is configured.
  FileFacts data;
  Filesystem data_filesystem = Filesystem::unknown;
  std::int64_t data_free_bytes = 0;
  std::optional<FileFacts> settings_file;
  std::int64_t open_files_max = 0;
  std::int64_t listen_backlog_max = 0;  // net.core.somaxconn; 0: not known.
  std::int64_t memory_bytes = 0;        // 0: not known.
  std::int64_t cores = 1;
  std::optional<bool> clock_is_synchronised;
  bool core_dumps_on = false;
  bool is_root = false;
  bool has_fault_points = false;  // Built with WEIR_FAULTS.
};

/// Everything about these settings on this machine that is unfit for a real sale, worst first. Pure.
[[nodiscard]] std::vector<Finding> examine(const Settings& settings, const Machine& machine);

/// Production mode does not start on a fatal finding.
[[nodiscard]] bool refuses_start(const Settings& settings, std::span<const Finding> findings);

}  // namespace weir
