#include "config/dsn_text.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>

namespace weir {
namespace {

constexpr std::string_view kHidden = "(hidden)";
constexpr std::array<std::string_view, 2> kSchemes{"postgresql://", "postgres://"};
constexpr std::array<std::string_view, 2> kSecretWords{"password", "sslpassword"};

bool is_secret(std::string_view word) { return std::ranges::find(kSecretWords, word) != kSecretWords.end(); }

bool is_space(char c) { return c == ' ' || c == '\t'; }

std::optional<std::string_view> scheme_of(std::string_view dsn) {
  for (const std::string_view scheme : kSchemes) {
    if (dsn.starts_with(scheme)) return scheme;
  }
  return std::nullopt;
}

/// How far a value of the form `word = value` goes: quoted or up to the next space; null: a quote without its end.
std::optional<std::size_t> value_end(std::string_view text, std::size_t from) {
  const bool is_quoted = from < text.size() && text[from] == '\'';
  std::size_t at = is_quoted ? from + 1 : from;
  while (at < text.size()) {  // Every turn goes on.
    if (text[at] == '\\') {
      at += 2;
      continue;
    }
    if (is_quoted && text[at] == '\'') return at + 1;
    if (!is_quoted && is_space(text[at])) return at;
    ++at;
  }
  if (is_quoted) return std::nullopt;
  return text.size();
}

std::string words_without_secrets(std::string_view dsn) {
  std::string out;
  std::size_t at = 0;
  while (at < dsn.size()) {  // One word and its value a turn.
    if (is_space(dsn[at])) {
      out += dsn[at++];
      continue;
    }
    const std::size_t equals = dsn.find('=', at);
    if (equals == std::string_view::npos) return std::string{kHidden};
    std::string_view word = dsn.substr(at, equals - at);
    while (!word.empty() && is_space(word.back())) word.remove_suffix(1);
    std::size_t value = equals + 1;
    while (value < dsn.size() && is_space(dsn[value])) ++value;
    const auto end = value_end(dsn, value);
    if (!end) return std::string{kHidden};
    const std::string_view text = dsn.substr(value, *end - value);
    out += word;
    out += '=';
    out += is_secret(word) ? kHidden : text;
    at = *end;
  }
  return out;
}

std::string query_without_secrets(std::string_view query) {
  std::string out;
  std::string_view rest = query;
  while (!rest.empty()) {  // One parameter a turn.
    const std::size_t end = std::min(rest.find('&'), rest.size());
    const std::string_view parameter = rest.substr(0, end);
    const std::size_t equals = std::min(parameter.find('='), parameter.size());
    const std::string_view word = parameter.substr(0, equals);
    if (!out.empty()) out += '&';
    // An encoded name may be any word.
    const bool hides = is_secret(word) || word.find('%') != std::string_view::npos;
    out += hides && equals < parameter.size() ? std::string{word} + "=" + std::string{kHidden} : std::string{parameter};
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return out;
}

std::string uri_without_secrets(std::string_view scheme, std::string_view dsn) {
  const std::string_view rest = dsn.substr(scheme.size());
  // The last `@` before the query: a password that holds one unencoded is hidden too.
  const std::size_t question = std::min(rest.find('?'), rest.size());
  const std::size_t last_at = rest.rfind('@');
  if (last_at != std::string_view::npos && last_at > question) return std::string{scheme} + std::string{kHidden};
  std::string_view authority = rest.substr(0, question);
  std::string out{scheme};
  if (last_at != std::string_view::npos) {
    const std::string_view user = authority.substr(0, last_at);
    const std::size_t colon = user.find(':');
    out += user.substr(0, colon);
    if (colon != std::string_view::npos) out += ":" + std::string{kHidden};
    authority.remove_prefix(last_at);
  }
  out += authority;
  if (question < rest.size()) out += "?" + query_without_secrets(rest.substr(question + 1));
  return out;
}

std::string percent_encoded(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (is_plain) {
      out += c;
    } else {
      out += '%';
      out += kDigits[byte >> 4];
      out += kDigits[byte & 15];
    }
  }
  return out;
}

std::string quoted_value(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') out += '\\';
    out += c;
  }
  return out + "'";
}

}  // namespace

std::string dsn_without_secrets(std::string_view dsn) {
  if (const auto scheme = scheme_of(dsn)) return uri_without_secrets(*scheme, dsn);
  return words_without_secrets(dsn);
}

std::string dsn_with_password(std::string_view dsn, std::string_view password) {
  std::string out{dsn};
  if (scheme_of(dsn)) {
    out += dsn.find('?') == std::string_view::npos ? '?' : '&';
    return out + "password=" + percent_encoded(password);
  }
  if (!out.empty()) out += ' ';
  return out + "password=" + quoted_value(password);  // The last of two counts.
}

}  // namespace weir
