#include "http/request_parser.h"

#include "base/system_clock.h"
#include "config/limits.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

namespace weir::http {
namespace {

using Progress = RequestParser::Progress;
using namespace std::string_literals;

/// Everything about an outcome, as text that can be compared.
std::string describe(const RequestParser& parser, Progress progress, std::string_view bytes) {
  if (progress == Progress::need_more) return "need_more";
  if (progress == Progress::refused) return "refused " + std::to_string(status_of(parser.refusal()));
  const Request request = parser.request(bytes);
  std::string text = "complete " + std::to_string(parser.consumed());
  text += " method=" + std::to_string(static_cast<int>(request.method));
  const auto add = [&text](std::string_view name, std::string_view value) {
    if (!value.empty()) text.append(" ").append(name).append("=").append(value);
  };
  add("path", request.path);
  add("query", request.query);
  add("body", request.body);
  add("host", request.host);
  add("authorization", request.authorization);
  add("content_type", request.content_type);
  add("idempotency_key", request.idempotency_key);
  add("if_none_match", request.if_none_match);
  add("accept", request.accept);
  add("x_forwarded_for", request.x_forwarded_for);
  add("x_sale_pass", request.x_sale_pass);
  add("signature", request.signature);
  add("id", parser.request_id(bytes));
  add("kept_alive", parser.is_kept_alive() ? "yes" : "no");
  return text;
}

/// Parses `text` as it comes in pieces that end at `cuts`. Every piece finds the bytes in a new block of exactly their
/// size, so that a sanitizer sees any step outside and a kept address would be stale.
std::string outcome(std::string_view text, const std::vector<std::size_t>& cuts) {
  RequestParser parser("x-signature");
  std::vector<char> bytes;
  Progress progress = Progress::need_more;
  std::size_t had = 0;
  for (const std::size_t cut : cuts) {
    std::vector<char> moved(cut);
    std::ranges::copy(bytes, moved.begin());
    std::ranges::copy(text.substr(had, cut - had), moved.begin() + static_cast<std::ptrdiff_t>(had));
    bytes = std::move(moved);
    had = cut;
    progress = parser.parse(bytes);
    if (progress != Progress::need_more) break;
  }
  return describe(parser, progress, {bytes.data(), bytes.size()});
}

std::string whole(std::string_view text) { return outcome(text, {text.size()}); }

std::string bytewise(std::string_view text) {
  std::vector<std::size_t> cuts;
  for (std::size_t i = 1; i <= text.size(); ++i) cuts.push_back(i);
  return outcome(text, cuts);
}

std::string repeat(std::string_view text, std::size_t count) {
  std::string out;
  for (std::size_t i = 0; i < count; ++i) out += text;
  return out;
}

/// A request with these header lines, each with its CR LF, besides Host.
std::string get(std::string_view headers) {
  return "GET /a HTTP/1.1\r\nHost: shop.example\r\n" + std::string(headers) + "\r\n";
}
std::string post(std::string_view headers, std::string_view body) {
  return "POST /a HTTP/1.1\r\nHost: shop.example\r\n" + std::string(headers) + "\r\n" + std::string(body);
}
std::string chunked(std::string_view body) { return post("Transfer-Encoding: chunked\r\n", body); }
std::string line(std::string_view request_line) { return std::string(request_line) + "\r\nHost: shop.example\r\n\r\n"; }

struct Malformed {
  const char* rule;
  int status;
  std::string bytes;
};

std::vector<Malformed> malformed_lines() {
  const std::string long_target = "/" + repeat("a", kTargetBytesMax);
  return {
      {"no version", 400, line("GET /a")},
      {"no target", 400, line("GET HTTP/1.1")},
      {"an empty target", 400, line("GET  HTTP/1.1")},
      {"two blanks before the target", 400, line("GET  /a HTTP/1.1")},
      {"two blanks before the version", 400, line("GET /a  HTTP/1.1")},
      {"a blank in the target", 400, line("GET /a b HTTP/1.1")},
      {"a tab for a blank", 400, line("GET\t/a HTTP/1.1")},
      {"a tab before the version", 400, line("GET /a\tHTTP/1.1")},
      {"a leading blank", 400, line(" GET /a HTTP/1.1")},
      {"a trailing blank", 400, line("GET /a HTTP/1.1 ")},
      {"two empty lines first", 400, "\r\n\r\n" + line("GET /a HTTP/1.1")},
      {"a bare LF first", 400, "\n" + line("GET /a HTTP/1.1")},
      {"a bare LF after the line", 400, "GET /a HTTP/1.1\nHost: shop.example\r\n\r\n"},
      {"a bare CR in the line", 400, line("GET /a\rb HTTP/1.1")},
      {"CR CR LF", 400, "GET /a HTTP/1.1\r\r\nHost: shop.example\r\n\r\n"},
      {"an empty method", 400, line("/a HTTP/1.1")},
      {"a method that is no token", 400, line("G@T /a HTTP/1.1")},
      {"a method with a colon", 400, line("GET: /a HTTP/1.1")},
      {"a method in brackets", 400, line("(GET) /a HTTP/1.1")},
      {"a method beyond ASCII", 400, line("G\xc3\x89T /a HTTP/1.1")},
      {"a method too long", 400, line(repeat("M", kMethodBytesMax + 1) + " /a HTTP/1.1")},
      {"a NUL in the method", 400, line("GE\0T /a HTTP/1.1"s)},
      {"a NUL in the target", 400, line("GET /a\0b HTTP/1.1"s)},
      {"a control byte in the target", 400, line("GET /a\x01 HTTP/1.1")},
      {"DEL in the target", 400, line("GET /a\x7f HTTP/1.1")},
      {"DEL in a long target", 400, line("GET /aaaaaaaaaaaaaaaaaaaaaaaaa\x7f HTTP/1.1")},
      {"bytes beyond ASCII in the target", 400, line("GET /\xc3\xa9 HTTP/1.1")},
      {"bytes beyond ASCII in a long target", 400, line("GET /aaaaaaaaaaaaaaaaaa\xc3\xa9 HTTP/1.1")},
      {"a fragment", 400, line("GET /a#b HTTP/1.1")},
      {"a relative target", 400, line("GET a HTTP/1.1")},
      {"a query alone", 400, line("GET ?a HTTP/1.1")},
      {"a star with GET", 400, line("GET * HTTP/1.1")},
      {"a star and more", 400, line("OPTIONS *a HTTP/1.1")},
      {"an authority as target", 400, line("CONNECT shop.example:443 HTTP/1.1")},
      {"another scheme", 400, line("GET ftp://shop.example/a HTTP/1.1")},
      {"a scheme without slashes", 400, line("GET http:shop.example/a HTTP/1.1")},
      {"an absolute form of another host", 400, line("GET http://other.example/a HTTP/1.1")},
      {"an absolute form of another port", 400, line("GET http://shop.example:81/a HTTP/1.1")},
      {"an absolute form without a host", 400, line("GET http:///a HTTP/1.1")},
      {"user info in the target", 400, line("GET http://me@shop.example/a HTTP/1.1")},
      {"user info with a password", 400, line("GET http://me:x@shop.example/a HTTP/1.1")},
      {"an absolute form in 1.0 without Host", 400, "GET http://shop.example/a HTTP/1.0\r\n\r\n"},
      {"a target too long", 414, line("GET " + long_target + " HTTP/1.1")},
      {"a target far too long", 414, line("GET " + repeat(long_target, 3) + " HTTP/1.1")},
      {"a line without end", 414, repeat("A", 5000)},
      {"HTTP/0.9", 505, line("GET /a HTTP/0.9")},
      {"HTTP/1.2", 505, line("GET /a HTTP/1.2")},
      {"HTTP/2.0", 505, line("GET /a HTTP/2.0")},
      {"HTTP/9.9", 505, line("GET /a HTTP/9.9")},
      {"the preface of HTTP/2", 505, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"},
      {"a version of one number", 400, line("GET /a HTTP/1")},
      {"a version of three numbers", 400, line("GET /a HTTP/1.1.1")},
      {"a version of two digits", 400, line("GET /a HTTP/1.10")},
      {"a version in small letters", 400, line("GET /a http/1.1")},
      {"a version with a letter", 400, line("GET /a HTTP/1.x")},
      {"another protocol", 400, line("GET /a HTTQ/1.1")},
      {"a greeting of TLS", 400, "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\n"s},
  };
}

std::vector<Malformed> malformed_headers() {
  const std::string start = "GET /a HTTP/1.1\r\n";
  return {
      {"a bare LF after a header", 400, start + "Host: shop.example\nA: b\r\n\r\n"},
      {"a bare LF as the empty line", 400, start + "Host: shop.example\r\n\n"},
      {"a bare CR in a value", 400, get("A: b\rc\r\n")},
      {"a bare CR at the end of a value", 400, get("A: b\r\r\n")},
      {"a bare CR in a name", 400, get("A\rB: c\r\n")},
      {"a folded line", 400, get("A: b\r\n c\r\n")},
      {"a line folded with a tab", 400, get("A: b\r\n\tc\r\n")},
      {"a blank before the first header", 400, start + " Host: shop.example\r\n\r\n"},
      {"a blank before the colon", 400, get("A : b\r\n")},
      {"a tab before the colon", 400, get("A\t: b\r\n")},
      {"a blank in a name", 400, get("A B: c\r\n")},
      {"no name", 400, get(": b\r\n")},
      {"no colon", 400, get("AB\r\n")},
      {"a name that is no token", 400, get("A[]: b\r\n")},
      {"a name with a quote", 400, get("\"A\": b\r\n")},
      {"a name with a slash", 400, get("A/B: c\r\n")},
      {"a name beyond ASCII", 400, get("\xc3\x84: b\r\n")},
      {"a NUL in a name", 400, get("A\0B: c\r\n"s)},
      {"a NUL in a value", 400, get("A: b\0c\r\n"s)},
      {"a NUL in a long value", 400, get("A: bbbbbbbbbbbbbbbbbbbbbbbbbb\0bbbbbbbbbbbbbbb\r\n"s)},
      {"a control byte in a value", 400, get("A: b\x01\r\n")},
      {"a vertical tab in a value", 400, get("A: b\x0b c\r\n")},
      {"an escape in a value", 400, get("A: \x1b[2J\r\n")},
      {"DEL in a value", 400, get("A: b\x7f\r\n")},
      {"DEL in a long value", 400,
       get("A: bbbbbbbb\x7f"
           "bbbbbbbbbbbbbbbbbbbb\r\n")},
      {"no Host", 400, start + "\r\n"},
      {"no Host but another header", 400, start + "A: b\r\n\r\n"},
      {"two Hosts", 400, get("Host: other.example\r\n")},
      {"the same Host twice", 400, get("Host: shop.example\r\n")},
      {"two Hosts in other letters", 400, get("hOST: shop.example\r\n")},
      {"two Hosts in 1.0", 400, "GET /a HTTP/1.0\r\nHost: a\r\nHost: a\r\n\r\n"},
      {"an empty Host", 400, start + "Host:\r\n\r\n"},
      {"a blank Host", 400, start + "Host:   \r\n\r\n"},
      {"a Host with a blank", 400, start + "Host: shop example\r\n\r\n"},
      {"a list of Hosts", 400, start + "Host: a.example, b.example\r\n\r\n"},
      {"a Host with user info", 400, start + "Host: me@shop.example\r\n\r\n"},
      {"a Host with a path", 400, start + "Host: shop.example/a\r\n\r\n"},
      {"a Host with a scheme", 400, start + "Host: http://shop.example\r\n\r\n"},
      {"a Host with a bad port", 400, start + "Host: shop.example:8a\r\n\r\n"},
      {"a Host with a long port", 400, start + "Host: shop.example:123456\r\n\r\n"},
      {"a Host with two ports", 400, start + "Host: shop.example:1:2\r\n\r\n"},
      {"a Host in half a bracket", 400, start + "Host: [::1\r\n\r\n"},
      {"a Host with letters behind the bracket", 400, start + "Host: [::1]a\r\n\r\n"},
      {"a Host with a name in brackets", 400, start + "Host: [shop]\r\n\r\n"},
      {"a Host too long", 400, start + "Host: " + repeat("a", kHostBytesMax + 1) + "\r\n\r\n"},
      {"a port without a Host", 400, start + "Host: :80\r\n\r\n"},
      {"another expectation", 417, get("Expect: 200-ok\r\n")},
      {"an empty expectation", 417, get("Expect:\r\n")},
      {"two expectations in one", 417, get("Expect: 100-continue, x\r\n")},
      {"a second, other expectation", 417, get("Expect: 100-continue\r\nExpect: x\r\n")},
      {"too many headers", 431, get(repeat("A: b\r\n", kHeaderCountMax))},
      {"a header too long", 431, get("A: " + repeat("b", kHeaderBytesMax) + "\r\n")},
      {"headers too long together", 431, get(repeat("A: " + repeat("b", 1000) + "\r\n", 17))},
      {"a header without end", 431, start + "A: " + repeat("b", kHeaderBytesMax)},
  };
}

std::vector<Malformed> malformed_lengths() {
  return {
      {"a negative length", 400, post("Content-Length: -1\r\n", "")},
      {"a length with a plus", 400, post("Content-Length: +1\r\n", "a")},
      {"a length with a blank inside", 400, post("Content-Length: 1 1\r\n", "aaaaaaaaaaa")},
      {"an empty length", 400, post("Content-Length:\r\n", "")},
      {"a hexadecimal length", 400, post("Content-Length: 0x1\r\n", "a")},
      {"a length with a letter", 400, post("Content-Length: 1a\r\n", "a")},
      {"a length with a fraction", 400, post("Content-Length: 1.0\r\n", "a")},
      {"a list of lengths", 400, post("Content-Length: 1, 1\r\n", "a")},
      {"a list of lengths without blanks", 400, post("Content-Length: 1,1\r\n", "a")},
      {"the same length twice", 400, post("Content-Length: 1\r\nContent-Length: 1\r\n", "a")},
      {"two lengths", 400, post("Content-Length: 1\r\nContent-Length: 2\r\n", "aa")},
      {"two lengths in other letters", 400, post("Content-Length: 1\r\ncontent-length: 1\r\n", "a")},
      {"a length past 64 bits", 400, post("Content-Length: 18446744073709551617\r\n", "a")},
      {"a length of many digits", 400, post("Content-Length: " + repeat("1", 100) + "\r\n", "a")},
      {"a length of many zeros", 400, post("Content-Length: " + repeat("0", 100) + "\r\n", "")},
      {"a length and chunks (B096)", 400, post("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n")},
      {"chunks and a length (B096)", 400, post("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", "0\r\n\r\n")},
      {"length zero and chunks (B096)", 400, post("Content-Length: 0\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n")},
      {"a body too large", 413, post("Content-Length: 16385\r\n", "")},
      {"a body far too large", 413, post("Content-Length: 9223372036854775807\r\n", "")},
      {"a body too large with Expect", 413, post("Content-Length: 99999\r\nExpect: 100-continue\r\n", "")},
  };
}

std::vector<Malformed> malformed_encodings() {
  const auto encoded = [](std::string_view value) {
    return post("Transfer-Encoding: " + std::string(value) + "\r\n", "0\r\n\r\n");
  };
  return {
      {"gzip (B096)", 501, encoded("gzip")},
      {"identity", 501, encoded("identity")},
      {"gzip, then chunked (B096)", 501, encoded("gzip, chunked")},
      {"chunked, then gzip (B096)", 400, encoded("chunked, gzip")},
      {"chunked twice", 400, encoded("chunked, chunked")},
      {"chunked in two headers (B096)", 400,
       post("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n")},
      {"identity and chunked in two headers", 501,
       post("Transfer-Encoding: identity\r\nTransfer-Encoding: chunked\r\n", "")},
      {"an empty encoding", 400, encoded("")},
      {"a comma", 400, encoded(",")},
      {"chunked and a comma", 501, encoded("chunked,")},
      {"a comma and chunked", 400, encoded(",chunked")},
      {"chunked in quotes", 400, encoded("\"chunked\"")},
      {"chunked with a parameter", 400, encoded("chunked;a=b")},
      {"chunked with a blank inside", 400, encoded("chun ked")},
      {"almost chunked", 501, encoded("xchunked")},
      {"chunked behind a vertical tab", 400,
       encoded("\x0b"
               "chunked")},
      {"chunked in 1.0", 400, "POST /a HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"},
  };
}

std::vector<Malformed> malformed_chunks() {
  return {
      {"no chunk size", 400, chunked("\r\n")},
      {"a chunk size that is no number", 400, chunked("g\r\n")},
      {"a negative chunk size", 400, chunked("-1\r\n")},
      {"a chunk size with a plus", 400, chunked("+1\r\na\r\n0\r\n\r\n")},
      {"a chunk size with 0x", 400, chunked("0x1\r\na\r\n0\r\n\r\n")},
      {"a blank before the chunk size", 400, chunked(" 1\r\na\r\n0\r\n\r\n")},
      {"a blank after the chunk size", 400, chunked("1 \r\na\r\n0\r\n\r\n")},
      {"a blank before the extension", 400, chunked("1 ;a\r\na\r\n0\r\n\r\n")},
      {"a chunk size past 64 bits", 400, chunked("10000000000000001\r\na\r\n0\r\n\r\n")},
      {"a chunk size of many zeros", 400, chunked("00000000000000001\r\na\r\n0\r\n\r\n")},
      {"a chunk size that wraps", 413, chunked("ffffffffffffffff\r\na\r\n0\r\n\r\n")},
      {"a chunk too large", 413, chunked("4001\r\n")},
      {"chunks too large together", 413, chunked("3fff\r\n" + repeat("a", 0x3fff) + "\r\n2\r\n")},
      {"an extension without a name", 400, chunked("1;\r\na\r\n0\r\n\r\n")},
      {"an extension too long", 400, chunked("1;" + repeat("a", kChunkExtensionBytesMax + 1) + "\r\na\r\n0\r\n\r\n")},
      {"an extension without end", 400, chunked("1;" + repeat("a", 400))},
      {"a control byte in an extension", 400, chunked("1;a=\x01\r\na\r\n0\r\n\r\n")},
      {"a bare LF after the chunk size", 400, chunked("1\na\r\n0\r\n\r\n")},
      {"a bare CR in an extension", 400, chunked("1;a\rb\r\na\r\n0\r\n\r\n")},
      {"a bare LF in an extension", 400, chunked("1;a\nb\r\na\r\n0\r\n\r\n")},
      {"a bare LF after the chunk", 400, chunked("1\r\na\n0\r\n\r\n")},
      {"a chunk longer than it says", 400, chunked("1\r\nab\r\n0\r\n\r\n")},
      {"a chunk without its line end", 400, chunked("1\r\na0\r\n\r\n")},
      {"CR and no LF after the chunk", 400, chunked("1\r\na\rX0\r\n\r\n")},
      {"a bare LF at the end", 400, chunked("0\r\n\n")},
      {"a trailer without a colon", 400, chunked("0\r\nA\r\n\r\n")},
      {"a folded trailer", 400, chunked("0\r\nA: b\r\n c\r\n\r\n")},
      {"a control byte in a trailer", 400, chunked("0\r\nA: \x01\r\n\r\n")},
      {"trailers too long", 431, chunked("0\r\nA: " + repeat("b", kTrailerBytesMax) + "\r\n\r\n")},
      {"too many trailers", 431, chunked("0\r\n" + repeat("A: b\r\n", kHeaderCountMax) + "\r\n")},
      {"more frames than body", 413, chunked(repeat("1\r\na\r\n", 4000))},
  };
}

std::vector<Malformed> all_malformed() {
  std::vector<Malformed> all;
  for (const auto& some :
       {malformed_lines(), malformed_headers(), malformed_lengths(), malformed_encodings(), malformed_chunks()}) {
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

TEST(RequestParser, MalformedRequestsAreRefusedHoweverTheyArrive) {
  const auto all = all_malformed();
  EXPECT_GE(all.size(), 120U);
  for (const Malformed& malformed : all) {
    const std::string expected = "refused " + std::to_string(malformed.status);
    EXPECT_EQ(whole(malformed.bytes), expected) << malformed.rule;
    if (malformed.bytes.size() < 8'000) {
      EXPECT_EQ(bytewise(malformed.bytes), expected) << malformed.rule << ", byte by byte";
    } else {
      EXPECT_EQ(outcome(malformed.bytes, {4'000, 7'999, malformed.bytes.size()}), expected) << malformed.rule;
    }
  }
}

struct Valid {
  std::string bytes;
  std::string expected;
};

std::vector<Valid> valid_requests() {
  const std::string kAlive = " kept_alive=yes";
  const auto complete = [](std::string_view bytes, std::string_view rest) {
    return "complete " + std::to_string(bytes.size()) + std::string(rest);
  };
  std::vector<Valid> all;
  const auto add = [&](const std::string& bytes, const std::string& rest) {
    all.push_back({bytes, complete(bytes, rest)});
  };
  const std::string host = " host=shop.example";
  add(get(""), " method=0 path=/a" + host + kAlive);
  add("\r\n" + get(""), " method=0 path=/a" + host + kAlive);
  add(line("GET /a?b=c?d HTTP/1.1"), " method=0 path=/a query=b=c?d" + host + kAlive);
  add(line("GET /a? HTTP/1.1"), " method=0 path=/a" + host + kAlive);
  add(line("GET /%2e%2e/%00//b HTTP/1.1"), " method=0 path=/%2e%2e/%00//b" + host + kAlive);
  add(line("HEAD /a HTTP/1.1"), " method=1 path=/a" + host + kAlive);
  add(line("get /a HTTP/1.1"), " method=6 path=/a" + host + kAlive);
  add(line("BREW /a HTTP/1.1"), " method=6 path=/a" + host + kAlive);
  add(line("OPTIONS * HTTP/1.1"), " method=5 path=*" + host + kAlive);
  add(line("GET http://shop.example/a?b HTTP/1.1"), " method=0 path=/a query=b" + host + kAlive);
  add(line("GET HTTPS://SHOP.example HTTP/1.1"), " method=0 path=/" + host + kAlive);
  add(line("GET http://shop.example?b HTTP/1.1"), " method=0 path=/ query=b" + host + kAlive);
  add("GET /a HTTP/1.1\r\nHost: [::1]:8080\r\n\r\n", " method=0 path=/a host=[::1]:8080" + kAlive);
  add("GET /a HTTP/1.1\r\nHOST:\t shop.example:80 \t\r\n\r\n", " method=0 path=/a host=shop.example:80" + kAlive);
  add("GET /a HTTP/1.0\r\n\r\n", " method=0 path=/a kept_alive=no");
  add("GET /a HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n", " method=0 path=/a" + kAlive);
  add(get("Connection: close\r\n"), " method=0 path=/a" + host + " kept_alive=no");
  add(get("Connection: x ,  CLOSE, y\r\n"), " method=0 path=/a" + host + " kept_alive=no");
  add(get("Connection: keep-alive\r\nConnection: close\r\n"), " method=0 path=/a" + host + " kept_alive=no");
  add(get("Connection: closed\r\n"), " method=0 path=/a" + host + kAlive);
  add(get("A: b\tc\r\nB:\r\nC: \xc3\xa9\r\n"), " method=0 path=/a" + host + kAlive);
  add(get("A: bbbbbbbbbbbbbbbbbbb\tcccccccccccccccccc\r\n"), " method=0 path=/a" + host + kAlive);
  add(get("Authorization: Bearer x\r\nAccept: a\r\nIf-None-Match: \"m\"\r\nX-Sale-Pass: p\r\nX-Signature: s\r\n"),
      " method=0 path=/a" + host + " authorization=Bearer x if_none_match=\"m\" accept=a x_sale_pass=p signature=s" +
          kAlive);
  add(get("X-Request-Id: a.B_9-\r\n"), " method=0 path=/a" + host + " id=a.B_9-" + kAlive);
  add(get("X-Request-Id: a b\r\n"), " method=0 path=/a" + host + kAlive);
  add(get("X-Request-Id: " + repeat("a", 65) + "\r\n"), " method=0 path=/a" + host + kAlive);
  add(get("X-Forwarded-For: 1.1.1.1\r\nX-Forwarded-For: 2.2.2.2\r\n"),
      " method=0 path=/a" + host + " x_forwarded_for=2.2.2.2" + kAlive);
  add(get("Authorization: a\r\nAuthorization: b\r\n"), " method=0 path=/a" + host + kAlive);
  add(post("Content-Length: 5\r\nContent-Type: t\r\nIdempotency-Key: k\r\n", "a\0b\nc"s),
      " method=2 path=/a body=a\0b\nc"s + host + " content_type=t idempotency_key=k" + kAlive);
  add(post("Content-Length: 005\r\n", "abcde"), " method=2 path=/a body=abcde" + host + kAlive);
  add(post("Content-Length: 0\r\n", ""), " method=2 path=/a" + host + kAlive);
  add(post("Expect: 100-Continue\r\nContent-Length: 1\r\n", "a"), " method=2 path=/a body=a" + host + kAlive);
  add(chunked("0\r\n\r\n"), " method=2 path=/a" + host + kAlive);
  add(chunked("5\r\nabcde\r\n0\r\n\r\n"), " method=2 path=/a body=abcde" + host + kAlive);
  add(chunked("1\r\na\r\n0002;x=\"y\"\r\nbc\r\nA;z\r\ndefghijklm\r\n000\r\n\r\n"),
      " method=2 path=/a body=abcdefghijklm" + host + kAlive);
  add(chunked("2\r\n\r\n\r\n0\r\n\r\n"), " method=2 path=/a body=\r\n" + host + kAlive);
  add(chunked("1\r\na\r\n0\r\nContent-Length: 7\r\nB: c\r\n\r\n"), " method=2 path=/a body=a" + host + kAlive);
  add(post("TRANSFER-encoding:\tChunked \r\n", "1\r\na\r\n0\r\n\r\n"), " method=2 path=/a body=a" + host + kAlive);
  return all;
}

TEST(RequestParser, ValidRequestsAreReadWholeByteByByteAndCutAnywhere) {
  for (const Valid& valid : valid_requests()) {
    EXPECT_EQ(whole(valid.bytes), valid.expected);
    EXPECT_EQ(bytewise(valid.bytes), valid.expected);
    for (std::size_t cut = 1; cut < valid.bytes.size(); ++cut) {
      ASSERT_EQ(outcome(valid.bytes, {cut, valid.bytes.size()}), valid.expected) << "cut at " << cut;
    }
  }
}

TEST(RequestParser, WhatFollowsARequestIsNotTouched) {
  for (const Valid& valid : valid_requests()) {
    std::string bytes = valid.bytes + "GET /next HTTP/1.1\r\n";
    EXPECT_EQ(whole(bytes), valid.expected);
    RequestParser parser;
    ASSERT_EQ(parser.parse(bytes), Progress::complete);
    EXPECT_EQ(bytes.substr(parser.consumed()), "GET /next HTTP/1.1\r\n");
  }
}

TEST(RequestParser, EveryPrefixOfAValidRequestNeedsMore) {
  for (const Valid& valid : valid_requests()) {
    for (std::size_t size = 0; size < valid.bytes.size(); ++size) {
      ASSERT_EQ(whole(valid.bytes.substr(0, size)), "need_more") << size << " of " << valid.bytes;
    }
  }
}

TEST(RequestParser, LimitsAreAllowedToTheLastByte) {
  const auto is_complete = [](const std::string& bytes) { return whole(bytes).starts_with("complete"); };
  const std::string target = "/" + repeat("a", kTargetBytesMax - 1);
  EXPECT_TRUE(is_complete(line("GET " + target + " HTTP/1.1")));
  EXPECT_TRUE(is_complete(line(repeat("M", kMethodBytesMax) + " /a HTTP/1.1")));
  EXPECT_TRUE(is_complete(get(repeat("A: b\r\n", kHeaderCountMax - 1))));
  const std::size_t room = kHeaderBytesMax - get("").size() - 5;
  EXPECT_TRUE(is_complete(get("A: " + repeat("b", room) + "\r\n")));
  EXPECT_FALSE(is_complete(get("A: " + repeat("b", room + 1) + "\r\n")));
  EXPECT_TRUE(is_complete(post("Content-Length: 16384\r\n", repeat("a", kBodyBytesMax))));
  EXPECT_TRUE(is_complete(chunked("4000\r\n" + repeat("a", kBodyBytesMax) + "\r\n0\r\n\r\n")));
  EXPECT_TRUE(is_complete(chunked("1;" + repeat("a", kChunkExtensionBytesMax) + "\r\na\r\n0\r\n\r\n")));
  EXPECT_TRUE(is_complete("GET /a HTTP/1.1\r\nHost: " + repeat("a", kHostBytesMax) + "\r\n\r\n"));
}

TEST(RequestParser, RepetitionsAreReported) {
  std::string bytes =
      get("Authorization: a\r\nAUTHORIZATION: a\r\nIdempotency-Key: k\r\nIdempotency-Key:\r\n"
          "X-Signature: s\r\nX-Signature: s\r\n");
  RequestParser parser("x-signature");
  ASSERT_EQ(parser.parse(bytes), Progress::complete);
  const Request request = parser.request(bytes);
  EXPECT_TRUE(request.repeated_authorization);
  EXPECT_TRUE(request.repeated_idempotency_key);
  EXPECT_TRUE(request.repeated_signature);
  EXPECT_TRUE(request.has_idempotency_key);
  EXPECT_TRUE(request.authorization.empty() && request.idempotency_key.empty() && request.signature.empty());
}

TEST(RequestParser, AnEmptyIdempotencyKeyIsPresent) {
  std::string bytes = get("Idempotency-Key:\r\n");
  RequestParser parser;
  ASSERT_EQ(parser.parse(bytes), Progress::complete);
  EXPECT_TRUE(parser.request(bytes).has_idempotency_key);
  EXPECT_FALSE(parser.request(bytes).repeated_idempotency_key);
}

TEST(RequestParser, ContinueIsWantedOnceAndOnlyBeforeTheBody) {
  std::string bytes = post("Expect: 100-continue\r\nContent-Length: 2\r\n", "");
  RequestParser parser;
  ASSERT_EQ(parser.parse(bytes), Progress::need_more);
  EXPECT_TRUE(parser.takes_continue(bytes.size()));
  EXPECT_FALSE(parser.takes_continue(bytes.size()));

  bytes += "a";
  parser.reset();
  ASSERT_EQ(parser.parse(bytes), Progress::need_more);
  EXPECT_FALSE(parser.takes_continue(bytes.size()));

  bytes = "POST / HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n";
  parser.reset();
  ASSERT_EQ(parser.parse(bytes), Progress::need_more);
  EXPECT_FALSE(parser.takes_continue(bytes.size()));
}

/// 99 headers whose names are made of two pairs of letters, one a bit of a number.
std::string header_flood(std::string_view zero, std::string_view one) {
  std::string headers;
  for (std::size_t i = 0; i < kHeaderCountMax - 1; ++i) {
    for (std::size_t bit = 0; bit < 7; ++bit) headers += (i >> bit & 1) == 0 ? zero : one;
    headers += ": b\r\n";
  }
  return headers;
}

/// The first two names have the same hash under djb2, the next two under the hash that multiplies by 31: a table with
/// either would be searched 99 times as long as one with names that differ.
TEST(RequestParser, B102_NamesThatCollideCostNoMoreThanOthers) {
  const SystemClock clock;
  const auto spent = [&clock](const std::string& headers) {
    std::string bytes = get(headers);
    RequestParser parser("x-signature");
    Micros best = Micros::max();
    for (int round = 0; round < 10; ++round) {
      const Ticks begin = clock.ticks();
      for (int i = 0; i < 50; ++i) {
        parser.reset();
        EXPECT_EQ(parser.parse(bytes), Progress::complete);
      }
      best = std::min(best, clock.ticks() - begin);
    }
    return best;
  };
  const Micros usual = spent(header_flood("qx", "kv"));
  EXPECT_LT(spent(header_flood("Ez", "FY")), 3 * usual + Micros{2000});
  EXPECT_LT(spent(header_flood("Aa", "BB")), 3 * usual + Micros{2000});
}

}  // namespace
}  // namespace weir::http
