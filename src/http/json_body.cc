#include "http/json_body.h"

#include "config/limits.h"

#include <algorithm>
#include <charconv>

namespace weir::http {
namespace {

/// Walks JSON text without building anything. `wrong_` is the first thing that was wrong.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  [[nodiscard]] bool at_end() const { return at_ == text_.size(); }
  [[nodiscard]] std::size_t at() const { return at_; }
  [[nodiscard]] std::string_view between(std::size_t from, std::size_t to) const {
    return text_.substr(from, to - from);
  }
  [[nodiscard]] const std::string& wrong() const { return wrong_; }

  void skip_space() {
    while (!at_end() && (peek() == ' ' || peek() == '\t' || peek() == '\n' || peek() == '\r')) ++at_;
  }
  [[nodiscard]] char peek() const { return at_end() ? '\0' : text_[at_]; }
  bool take(char wanted) {
    if (at_end() || text_[at_] != wanted) return false;
    ++at_;
    return true;
  }
  bool fail(std::string why) {
    if (wrong_.empty()) wrong_ = std::move(why);
    return false;
  }

  /// Reads a string and, if `out` is given, unescapes it.
  bool string(std::string* out) {
    if (!take('"')) return fail("a string was expected");
    while (!at_end()) {
      const auto c = static_cast<unsigned char>(text_[at_]);
      if (c == '"') {
        ++at_;
        return true;
      }
      if (c < 0x20) return fail("a control character stands in a string");
      if (c == '\\') {
        if (!escape(out)) return false;
      } else if (c < 0x80) {
        if (out != nullptr) *out += static_cast<char>(c);
        ++at_;
      } else if (!utf8(out)) {
        return false;
      }
    }
    return fail("a string does not end");
  }

  bool value(JsonMember::Kind& kind, std::size_t depth) {
    if (depth > kJsonDepthMax) return fail("it is nested too deeply");
    switch (peek()) {
      case '"': kind = JsonMember::Kind::string; return string(nullptr);
      case '{': kind = JsonMember::Kind::object; return container('}', true, depth);
      case '[': kind = JsonMember::Kind::array; return container(']', false, depth);
      case 't': kind = JsonMember::Kind::boolean; return word("true");
      case 'f': kind = JsonMember::Kind::boolean; return word("false");
      case 'n': kind = JsonMember::Kind::null; return word("null");
      default: kind = JsonMember::Kind::number; return number();
    }
  }

 private:
  bool word(std::string_view wanted) {
    if (text_.substr(at_, wanted.size()) != wanted) return fail("a value was expected");
    at_ += wanted.size();
    return true;
  }

  bool digits() {
    const std::size_t from = at_;
    while (peek() >= '0' && peek() <= '9') ++at_;
    return at_ > from ? true : fail("a number was expected");
  }

  bool number() {
    take('-');
    if (take('0')) {
      if (peek() >= '0' && peek() <= '9') return fail("a number has a leading zero");
    } else if (!digits()) {
      return false;
    }
    if (take('.') && !digits()) return false;
    if (take('e') || take('E')) {
      if (!take('+')) take('-');
      return digits();
    }
    return true;
  }

  bool container(char close, bool has_names, std::size_t depth) {
    ++at_;
    skip_space();
    if (take(close)) return true;
    while (true) {
      skip_space();
      if (has_names) {
        if (!string(nullptr)) return false;
        skip_space();
        if (!take(':')) return fail("a colon was expected");
        skip_space();
      }
      JsonMember::Kind kind{};
      if (!value(kind, depth + 1)) return false;
      skip_space();
      if (take(close)) return true;
      if (!take(',')) return fail("a comma was expected");
    }
  }

  bool hex4(unsigned& out) {
    if (text_.size() - at_ < 4) return fail("an escape is cut short");
    const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + at_ + 4, out, 16);
    if (error != std::errc{} || end != text_.data() + at_ + 4) return fail("an escape is not hexadecimal");
    at_ += 4;
    return true;
  }

  static void append_utf8(std::string& out, unsigned code) {
    const auto put = [&](unsigned byte) { out += static_cast<char>(byte); };
    if (code < 0x80) {
      put(code);
    } else if (code < 0x800) {
      put(0xc0 | code >> 6);
      put(0x80 | (code & 0x3f));
    } else if (code < 0x10000) {
      put(0xe0 | code >> 12);
      put(0x80 | (code >> 6 & 0x3f));
      put(0x80 | (code & 0x3f));
    } else {
      put(0xf0 | code >> 18);
      put(0x80 | (code >> 12 & 0x3f));
      put(0x80 | (code >> 6 & 0x3f));
      put(0x80 | (code & 0x3f));
    }
  }

  bool unicode_escape(std::string* out) {
    unsigned code = 0;
    if (!hex4(code)) return false;
    if (code >= 0xdc00 && code <= 0xdfff) return fail("an escape is half a character");
    if (code >= 0xd800 && code <= 0xdbff) {
      unsigned low = 0;
      if (!take('\\') || !take('u') || !hex4(low) || low < 0xdc00 || low > 0xdfff) {
        return fail("an escape is half a character");
      }
      code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    }
    if (out != nullptr) append_utf8(*out, code);
    return true;
  }

  bool escape(std::string* out) {
    ++at_;
    static constexpr std::string_view kFrom = "\"\\/bfnrt";
    static constexpr std::string_view kTo = "\"\\/\b\f\n\r\t";
    const char c = peek();
    if (c == 'u') {
      ++at_;
      return unicode_escape(out);
    }
    const std::size_t found = c == '\0' ? std::string_view::npos : kFrom.find(c);
    if (found == std::string_view::npos) return fail("an escape is unknown");
    if (out != nullptr) *out += kTo[found];
    ++at_;
    return true;
  }

  bool utf8(std::string* out) {
    const auto byte = [&](std::size_t i) -> unsigned {
      return at_ + i < text_.size() ? static_cast<unsigned char>(text_[at_ + i]) : 0U;
    };
    const unsigned lead = byte(0);
    std::size_t length = 0;
    if (lead >= 0xc2 && lead <= 0xdf) length = 2;
    if (lead >= 0xe0 && lead <= 0xef) length = 3;
    if (lead >= 0xf0 && lead <= 0xf4) length = 4;
    bool is_good = length > 0;
    for (std::size_t i = 1; i < length; ++i) is_good = is_good && (byte(i) & 0xc0) == 0x80;
    is_good = is_good && !(lead == 0xe0 && byte(1) < 0xa0) && !(lead == 0xed && byte(1) > 0x9f) &&
              !(lead == 0xf0 && byte(1) < 0x90) && !(lead == 0xf4 && byte(1) > 0x8f);
    if (!is_good) return fail("it is not UTF-8");
    if (out != nullptr) out->append(text_.substr(at_, length));
    at_ += length;
    return true;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::string wrong_;
};

}  // namespace

std::optional<std::int64_t> JsonMember::whole() const {
  if (kind != Kind::number || raw == "-0") return std::nullopt;
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(raw.data(), raw.data() + raw.size(), number);
  if (error != std::errc{} || end != raw.data() + raw.size()) return std::nullopt;
  return number;
}

std::optional<std::string> JsonMember::text() const {
  if (kind != Kind::string) return std::nullopt;
  std::string out;
  Scanner scanner{raw};
  if (!scanner.string(&out)) return std::nullopt;
  return out;
}

std::optional<bool> JsonMember::boolean() const {
  if (kind != Kind::boolean) return std::nullopt;
  return raw == "true";
}

Parsed<JsonBody> JsonBody::parse(std::string_view body) {
  JsonBody parsed;
  if (body.empty()) return parsed;
  Scanner scanner{body};
  const auto wrong = [&](std::string_view otherwise) {
    return std::unexpected("The body is not a JSON object: " +
                           (scanner.wrong().empty() ? std::string{otherwise} : scanner.wrong()));
  };
  scanner.skip_space();
  if (!scanner.take('{')) return wrong("an object was expected");
  scanner.skip_space();
  bool is_closed = scanner.take('}');
  while (!is_closed) {
    scanner.skip_space();
    JsonMember member;
    if (!scanner.string(&member.name)) return wrong("a name was expected");
    scanner.skip_space();
    if (!scanner.take(':')) return wrong("a colon was expected");
    scanner.skip_space();
    const std::size_t from = scanner.at();
    if (!scanner.value(member.kind, 2)) return wrong("a value was expected");
    member.raw = scanner.between(from, scanner.at());
    if (parsed.find(member.name) != nullptr) return wrong("a member is repeated");
    if (parsed.count_ == kJsonMembersMax) return wrong("it has too many members");
    parsed.members_[parsed.count_++] = std::move(member);
    scanner.skip_space();
    is_closed = scanner.take('}');
    if (!is_closed && !scanner.take(',')) return wrong("a comma was expected");
  }
  scanner.skip_space();
  if (!scanner.at_end()) return wrong("something stands behind it");
  return parsed;
}

const JsonMember* JsonBody::find(std::string_view name) const {
  const auto end = members_.begin() + static_cast<std::ptrdiff_t>(count_);
  const auto found = std::find_if(members_.begin(), end, [&](const JsonMember& m) { return m.name == name; });
  return found == end ? nullptr : &*found;
}

const std::string* JsonBody::unknown(std::initializer_list<std::string_view> allowed) const {
  for (std::size_t i = 0; i < count_; ++i) {
    if (std::find(allowed.begin(), allowed.end(), members_[i].name) == allowed.end()) return &members_[i].name;
  }
  return nullptr;
}

}  // namespace weir::http
