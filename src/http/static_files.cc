#include "http/static_files.h"

#include "base/siphash.h"
#include "http/answers.h"

#include <fmt/format.h>

namespace weir::http {
namespace {

constexpr std::string_view kPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "frame-ancestors 'none'; base-uri 'none'; form-action 'self'";

std::vector<std::pair<std::string_view, std::string>> page_headers(const std::string& etag) {
  return {{"ETag", etag},
          {"Cache-Control", "public, max-age=60"},
          {"Content-Security-Policy", std::string{kPolicy}},
          {"X-Content-Type-Options", "nosniff"},
          {"Referrer-Policy", "no-referrer"}};
}

}  // namespace

StaticFiles::StaticFiles(std::span<const StaticFile> files) {
  for (const StaticFile& file : files) {
    Entry entry;
    entry.path = file.path;
    entry.etag = fmt::format("\"p-{:016x}\"", siphash({0x70616765, 0x66696c65}, file.bytes));
    Response whole;
    whole.content_type = file.content_type;
    whole.body = file.bytes;
    whole.headers = page_headers(entry.etag);
    entry.whole = FixedReply{whole};
    Response not_modified;
    not_modified.status = 304;
    not_modified.content_type = {};
    not_modified.headers = page_headers(entry.etag);
    entry.not_modified = FixedReply{not_modified};
    entries_.push_back(std::move(entry));
  }
}

bool StaticFiles::send(const Request& request, Exchange& exchange) const {
  if (request.method != Method::get && request.method != Method::head) return false;
  for (const Entry& entry : entries_) {
    if (entry.path != request.path) continue;
    exchange.send(is_unchanged(request.if_none_match, entry.etag) ? entry.not_modified : entry.whole);
    return true;
  }
  return false;
}

}  // namespace weir::http
