#include "config/settings_text.h"

#include "base/json_text.h"
#include "config/dsn_text.h"

#include <algorithm>

#include <fmt/format.h>

namespace weir {
namespace {

/// TOML's basic strings and JSON's have the same escapes for everything that a setting may contain.
std::string quoted(std::string_view text) {
  std::string out;
  append_json_string(out, text);
  return out;
}

std::string list_text(std::string_view joined) {
  std::string out = "[";
  std::string_view rest = joined;
  while (!rest.empty()) {  // One turn an element; kSettingListMax of them.
    const std::size_t comma = std::min(rest.find(','), rest.size());
    if (out.size() > 1) out += ", ";
    out += quoted(rest.substr(0, comma));
    rest.remove_prefix(std::min(comma + 1, rest.size()));
  }
  return out + "]";
}

std::string toml_value(const SettingDeclaration& declaration, const std::string& text) {
  if (declaration.secret) return quoted(dsn_without_secrets(text));
  switch (declaration.kind) {
    case SettingKind::number:
    case SettingKind::seconds:
    case SettingKind::truth: return text;
    case SettingKind::endpoints:
    case SettingKind::networks: return list_text(text);
    case SettingKind::text:
    case SettingKind::path:
    case SettingKind::url:
    case SettingKind::address:
    case SettingKind::choice: return quoted(text);
  }
  return quoted(text);
}

std::string choices_text(std::string_view choices, std::string_view between) {
  std::string out;
  for (const char c : choices) out += c == '|' ? std::string(between) : std::string(1, c);
  return out;
}

/// Unit and bounds of a number, the words of a choice, or the form of a text.
std::string form_text(const SettingDeclaration& declaration) {
  switch (declaration.kind) {
    case SettingKind::number:
    case SettingKind::seconds:
      return fmt::format("{}, {} to {}", declaration.unit, declaration.least, declaration.most);
    case SettingKind::choice: return choices_text(declaration.choices, " or ");
    case SettingKind::truth: return "true or false";
    case SettingKind::text: return declaration.secret ? "text, secret" : "text";
    case SettingKind::path: return "path";
    case SettingKind::url: return "http:// or https:// address";
    case SettingKind::address: return "host:port";
    case SettingKind::endpoints: return "list of host:port";
    case SettingKind::networks: return "list of addresses and networks";
  }
  return "?";
}

std::string default_cell(const SettingDeclaration& declaration) {
  if (declaration.default_text.empty()) return is_list(declaration.kind) ? "none" : "not set";
  std::string cell = fmt::format("`{}`", declaration.default_text);
  if (!declaration.production_default.empty()) {
    cell += fmt::format("; in production `{}`", declaration.production_default);
  }
  return cell;
}

constexpr std::string_view kPageHead = R"(# Settings

Each setting has one name in three spellings: the flag `--http.listen`, the key `http.listen` in the file, and the
variable `WEIR_HTTP_LISTEN` in the environment. A flag beats the environment, the environment beats the file, the file
beats the default. `weir serve --print-config` shows every value with its unit, its bounds and where it came from.

The file is `./weir.toml` if it exists, or the one named by `--config FILE`. It is TOML: `http.listen = "…"` and
`listen = "…"` under `[http]` mean the same. Lists are arrays in the file and comma-separated without spaces in flags
and environment. Whole numbers are written in digits only. Seconds may also be written as a duration in whole seconds:
`600`, `10m`.

A name that is no setting is refused in all three places, so that a slip of the pen never leaves a default in force.
A secret is never a flag, because every user of the machine can read those. `{data}` stands for the data folder.

)";

constexpr std::string_view kPageEnd = R"(
Which stores go together:

| Gate | Queue | Ledger | Processes |
|---|---|---|---|
| memory | direct | sqlite | one `weir serve` on one machine; no server needed |
| memory | direct | postgres | one `weir serve` that keeps its record in PostgreSQL |
| redis | kafka | postgres | several `weir api` and `weir worker` |

`redis` + `direct` + `postgres` is not in this version. Any other combination, and a store whose settings are missing,
is refused at start with the reason. [distributed.md](distributed.md) goes from the first row to the last.
)";

}  // namespace

std::string print_config(const Settings& settings) {
  std::string out;
  for (std::size_t i = 0; i < declarations().size(); ++i) {
    const SettingDeclaration& declaration = declarations()[i];
    const std::string value = toml_value(declaration, setting_text(settings, declaration));
    out +=
        fmt::format("{} = {}  # {}; {}\n", declaration.key, value, form_text(declaration), name(settings.sources[i]));
  }
  return out;
}

std::string settings_page() {
  std::string out(kPageHead);
  out += "| Setting | Default | Form | Meaning |\n|---|---|---|---|\n";
  for (const SettingDeclaration& declaration : declarations()) {
    out += fmt::format("| `{}` | {} | {} | {} |\n", declaration.key, default_cell(declaration), form_text(declaration),
                       declaration.help);
  }
  out += kPageEnd;
  return out;
}

}  // namespace weir
