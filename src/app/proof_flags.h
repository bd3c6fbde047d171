#pragma once

#include "app/command.h"
#include "base/result.h"

#include <string>
#include <string_view>

namespace weir {

/// What the commands that prove something are told: whom to ask, and about what.
struct ProofFlags {
  std::string url;
  std::string token_file;
  std::string order;
  bool dry_run = false;
};

/// Adds `--url`, `--token-file`, `--json` and the settings to a command.
void add_proof_flags(CLI::App& command, CommandContext& context, ProofFlags& flags);

/// The JSON that the running server answers; null `body` is a GET. `unfit`: the token is not good enough.
[[nodiscard]] Result<std::string> ask_server(const ProofFlags& flags, std::string_view path, const std::string* body);

/// `weir reconcile`.
void reconcile(CommandContext& context, const ProofFlags& flags);

}  // namespace weir
