#include "config/settings.h"

#include "config/limits.h"
#include "config/setting_values.h"

#define TOML_HEADER_ONLY 1
#define TOML_EXCEPTIONS 0
#include <algorithm>
#include <type_traits>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <toml++/toml.h>

namespace weir {
namespace {

using Kind = SettingKind;

/// A text with the place that it came from.
struct Written {
  std::string text;
  SettingSource source = SettingSource::built_in;
};
using WrittenTexts = std::vector<Written>;  // By place in `declarations()`.

std::unexpected<std::string> refuse(std::string sentence) { return std::unexpected<std::string>(std::move(sentence)); }

std::optional<std::size_t> find_key(std::string_view key) {
  const auto all = declarations();
  const auto found = std::ranges::find(all, key, &SettingDeclaration::key);
  if (found == all.end()) return std::nullopt;
  return static_cast<std::size_t>(found - all.begin());
}

/// " Did you mean …?", or nothing.
std::string suggestion(std::string_view text, bool as_environment) {
  std::vector<std::string> words;
  for (const SettingDeclaration& declaration : declarations()) {
    words.push_back(as_environment ? environment_name(declaration.key) : std::string(declaration.key));
  }
  const std::optional<std::string> near = nearest_word(text, words);
  return near ? fmt::format("; did you mean {}?", *near) : std::string();
}

Parsed<std::string> join_array(const toml::array& array) {
  std::vector<std::string> elements;
  for (const toml::node& node : array) {  // At most kSettingsFileBytesMax of text make the array.
    const std::optional<std::string> element = node.value_exact<std::string>();
    if (!element || element->empty() || element->find(',') != std::string::npos) {
      return refuse("every element of the list must be a text without commas");
    }
    elements.push_back(*element);
  }
  return fmt::format("{}", fmt::join(elements, ","));
}

/// The text that a flag would have; the TOML type must be the setting's own.
Parsed<std::string> text_of_node(const toml::node& node, SettingKind kind) {
  if (is_list(kind)) {
    const toml::array* array = node.as_array();
    if (array == nullptr) return refuse("a list is written [\"one\", \"two\"]");
    return join_array(*array);
  }
  if (kind == Kind::truth) {
    const std::optional<bool> truth = node.value_exact<bool>();
    if (!truth) return refuse("it must be true or false, without quotes");
    return std::string(*truth ? "true" : "false");
  }
  if (kind == Kind::number || (kind == Kind::seconds && !node.is_string())) {
    const std::optional<std::int64_t> number = node.value_exact<std::int64_t>();
    if (!number) return refuse("it must be a whole number, without quotes");
    return fmt::format("{}", *number);
  }
  const std::optional<std::string> text = node.value_exact<std::string>();
  if (!text) return refuse("it must be a text in quotes");
  return *text;
}

Parsed<void> read_table(const toml::table& table, const std::string& prefix, const Sources& sources, int depth_left,
                        WrittenTexts& texts) {
  for (const auto& [name_in_table, node] : table) {
    const std::string key = prefix + std::string(name_in_table.str());
    const std::optional<std::size_t> place = find_key(key);
    if (!place && node.is_table() && depth_left > 0) {
      Parsed<void> inner = read_table(*node.as_table(), key + '.', sources, depth_left - 1, texts);
      if (!inner) return inner;
      continue;
    }
    if (!place) return refuse(fmt::format("{}: unknown setting {}{}", sources.file_path, key, suggestion(key, false)));
    if (texts[*place].source == SettingSource::file) {
      return refuse(fmt::format("{}: {} is given twice", sources.file_path, key));
    }
    Parsed<std::string> text = text_of_node(node, declarations()[*place].kind);
    if (!text) return refuse(fmt::format("{} ({}): {}", key, sources.file_path, text.error()));
    texts[*place] = Written{std::move(*text), SettingSource::file};
  }
  return {};
}

Parsed<void> read_file(const Sources& sources, WrittenTexts& texts) {
  if (sources.file_text.empty()) return {};
  if (sources.file_text.size() > kSettingsFileBytesMax) {
    return refuse(fmt::format("{}: longer than {} bytes", sources.file_path, kSettingsFileBytesMax));
  }
  const toml::parse_result parsed =
      toml::parse(std::string_view(sources.file_text), std::string_view(sources.file_path));
  if (!parsed) {
    const toml::parse_error& error = parsed.error();
    return refuse(fmt::format("{}, line {}: {}", sources.file_path, error.source().begin.line,
                              std::string_view(error.description())));
  }
  constexpr int kTableDepthMax = 4;
  return read_table(parsed.table(), "", sources, kTableDepthMax, texts);
}

Parsed<void> read_environment(const Sources& sources, WrittenTexts& texts) {
  for (const auto& [variable, text] : sources.environment) {
    if (!variable.starts_with("WEIR_")) continue;
    const auto is_named = [&](const SettingDeclaration& d) { return environment_name(d.key) == variable; };
    const auto all = declarations();
    const auto found = std::ranges::find_if(all, is_named);
    if (found == all.end()) {
      return refuse(fmt::format("environment: {} is no setting{}", variable, suggestion(variable, true)));
    }
    texts[static_cast<std::size_t>(found - all.begin())] = Written{text, SettingSource::environment};
  }
  return {};
}

Parsed<void> read_flags(const Sources& sources, WrittenTexts& texts) {
  for (const auto& [key, text] : sources.flags) {
    const std::optional<std::size_t> place = find_key(key);
    if (!place) return refuse(fmt::format("unknown flag --{}{}", key, suggestion(key, false)));
    if (declarations()[*place].secret) {
      return refuse(fmt::format("--{}: every user of this machine can read a flag; use the file or {}", key,
                                environment_name(key)));
    }
    texts[*place] = Written{text, SettingSource::flag};
  }
  return {};
}

Parsed<void> check_elements(SettingKind kind, const std::vector<std::string>& list) {
  for (const std::string& element : list) {
    if (kind == Kind::networks) {
      if (const auto network = parse_network(element); !network) return refuse(network.error());
    } else {
      const auto endpoint = parse_host_port(element);
      if (!endpoint) return refuse(endpoint.error());
      if (endpoint->port == 0) return refuse(fmt::format("'{}' needs a port above 0", element));
    }
  }
  return {};
}

Parsed<std::string> checked_text(SettingKind kind, const std::string& text) {
  Parsed<std::string> plain = parse_setting_text(text);
  if (!plain || text.empty()) return plain;
  if (kind == Kind::url) return parse_url(text);
  if (kind == Kind::address) {
    if (const auto address = parse_host_port(text); !address) return refuse(address.error());
  }
  return plain;
}

/// Stores a parsed value, or says what was wrong with it.
template <typename T>
Parsed<void> put(T& place, Parsed<T> value) {
  if (!value) return refuse(value.error());
  place = std::move(*value);
  return {};
}

Parsed<void> assign(Settings& settings, const SettingDeclaration& declaration, const std::string& text) {
  const NumberBounds bounds{declaration.least, declaration.most};
  return std::visit(
      [&](auto member) -> Parsed<void> {
        auto& place = settings.*member;
        using T = std::remove_reference_t<decltype(place)>;
        if constexpr (std::is_same_v<T, std::int64_t>) {
          return put(place, declaration.kind == Kind::seconds ? parse_seconds(text, bounds)
                                                              : parse_whole_number(text, bounds));
        } else if constexpr (std::is_same_v<T, bool>) {
          return put(place, parse_truth(text));
        } else if constexpr (std::is_enum_v<T>) {
          const Parsed<std::size_t> choice = parse_choice(text, declaration.choices);
          if (!choice) return refuse(choice.error());
          place = static_cast<T>(*choice);
          return {};
        } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
          if (Parsed<void> listed = put(place, parse_list(text)); !listed) return listed;
          return check_elements(declaration.kind, place);
        } else {
          return put(place, checked_text(declaration.kind, text));
        }
      },
      declaration.place);
}

std::string where(const SettingDeclaration& declaration, SettingSource source, const Sources& sources) {
  switch (source) {
    case SettingSource::built_in: return "default";
    case SettingSource::file: return sources.file_path;
    case SettingSource::environment: return "environment " + environment_name(declaration.key);
    case SettingSource::flag: return fmt::format("--{}", declaration.key);
  }
  return "?";
}

/// The default as text; needs `mode` and `data`, which are declared first.
std::string default_value(const Settings& settings, const SettingDeclaration& declaration) {
  constexpr std::string_view kData = "{data}";
  const bool own = settings.mode == Mode::production && !declaration.production_default.empty();
  std::string text(own ? declaration.production_default : declaration.default_text);
  if (text.starts_with(kData)) text.replace(0, kData.size(), settings.data);
  return text;
}

/// A setting that is not empty by default may not be emptied, or the path and address readers downstream meet "".
bool may_be_empty(const SettingDeclaration& declaration) {
  return declaration.default_text.empty() || declaration.kind == Kind::number;
}

Parsed<void> check_together(const Settings& settings) {
  const bool same = settings.http_listen == settings.ops_listen;
  if (same && !settings.http_listen.ends_with(":0")) {
    return refuse(fmt::format("http.listen and ops.listen are both {}: the operations listener needs its own address",
                              settings.http_listen));
  }
  return {};
}

}  // namespace

std::string environment_name(std::string_view key) {
  std::string variable = "WEIR_";
  for (const char c : key) {
    if (c >= 'a' && c <= 'z')
      variable += static_cast<char>(c - 'a' + 'A');
    else
      variable += c == '.' ? '_' : c;
  }
  return variable;
}

Parsed<Settings> load_settings(const Sources& sources) {
  WrittenTexts texts(declarations().size());
  for (const auto read : {read_file, read_environment, read_flags}) {
    if (Parsed<void> done = read(sources, texts); !done) return refuse(done.error());
  }
  Settings settings;
  for (std::size_t i = 0; i < declarations().size(); ++i) {
    const SettingDeclaration& declaration = declarations()[i];
    Written& written = texts[i];
    if (written.source == SettingSource::built_in) written.text = default_value(settings, declaration);
    Parsed<void> assigned = assign(settings, declaration, written.text);
    if (assigned && written.text.empty() && !may_be_empty(declaration)) assigned = refuse("it must not be empty");
    if (!assigned) {
      return refuse(
          fmt::format("{} ({}): {}", declaration.key, where(declaration, written.source, sources), assigned.error()));
    }
    settings.sources.push_back(written.source);
  }
  const std::size_t secret_place = *find_key("auth.hs256_secret_file");
  if (!settings.auth_jwks_file.empty() && settings.sources[secret_place] == SettingSource::built_in) {
    settings.auth_hs256_secret_file.clear();  // Whoever brings keys of his own gets no second one beside them.
  }
  if (Parsed<void> fits = check_together(settings); !fits) return refuse(fits.error());
  return settings;
}

std::string setting_text(const Settings& settings, const SettingDeclaration& declaration) {
  return std::visit(
      [&](auto member) -> std::string {
        const auto& value = settings.*member;
        using T = std::remove_cvref_t<decltype(value)>;
        if constexpr (std::is_enum_v<T>) {
          std::string_view rest = declaration.choices;
          for (std::size_t skip = static_cast<std::size_t>(value); skip > 0; --skip) {
            rest.remove_prefix(rest.find('|') + 1);
          }
          return std::string(rest.substr(0, rest.find('|')));
        } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
          return fmt::format("{}", fmt::join(value, ","));
        } else {
          return fmt::format("{}", value);
        }
      },
      declaration.place);
}

}  // namespace weir
