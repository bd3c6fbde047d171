#include "app/command.h"

#include <cerrno>
#include <cstdio>
#include <fstream>
#include <sstream>

#include <unistd.h>

#include <fmt/format.h>

extern char** environ;  // NOLINT(readability-redundant-declaration): not every libc declares it.

namespace weir {
namespace {

constexpr std::string_view kDefaultFile = "weir.toml";

std::vector<std::pair<std::string, std::string>> environment_settings() {
  std::vector<std::pair<std::string, std::string>> found;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text{*entry};
    const std::size_t equals = text.find('=');
    if (text.starts_with("WEIR_") && equals != std::string_view::npos) {
      found.emplace_back(text.substr(0, equals), text.substr(equals + 1));
    }
  }
  return found;
}

}  // namespace

void add_setting_flags(CLI::App& command, CommandContext& context) {
  command.add_option("--config", context.config_file, "Settings file (TOML); default ./weir.toml if it exists")
      ->group("Settings");
  for (const SettingDeclaration& declaration : declarations()) {
    if (declaration.secret) continue;
    const std::string key{declaration.key};
    command
        .add_option_function<std::string>(
            "--" + key, [&context, key](const std::string& value) { context.flags[key] = value; },
            std::string{declaration.help})
        ->group("Settings");
  }
}

Parsed<Settings> read_settings(const CommandContext& context) {
  Sources sources;
  sources.flags = context.flags;
  sources.environment = environment_settings();
  const bool is_named = !context.config_file.empty();
  sources.file_path = is_named ? context.config_file : std::string{kDefaultFile};
  std::ifstream file{sources.file_path};
  if (!file && is_named)
    return std::unexpected(fmt::format("cannot read the settings file '{}' (--config)", sources.file_path));
  if (file) {
    std::ostringstream text;
    text << file.rdbuf();
    sources.file_text = text.str();
  }
  return load_settings(sources);
}

void give_up(CommandContext& context, Exit exit, std::string_view message) {
  std::fprintf(stderr, "weir: %.*s\n", static_cast<int>(message.size()), message.data());
  context.exit = exit;
}

Exit exit_of(const Error& error) { return error.failure == Failure::unfit ? Exit::unfit : Exit::failed; }

}  // namespace weir
