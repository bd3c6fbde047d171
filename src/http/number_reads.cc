#include "base/encoding.h"
#include "config/limits.h"
#include "http/front_door.h"
#include "http/number_pages.h"
#include "http/query.h"

#include <charconv>

#include <fmt/format.h>

namespace weir::http {
namespace {

constexpr std::string_view kGapsType = "application/vnd.weir.gaps";
constexpr std::string_view kJsonType = "application/json";

/// `page=K`; 0 when absent, null when it is not a number in digits.
std::optional<std::uint32_t> page_of(std::string_view query) {
  const auto text = query_value(query, "page");
  if (!text) return 0;
  std::uint32_t page = 0;
  const char* const end = text->data() + text->size();
  const auto read = std::from_chars(text->data(), end, page);
  return read.ec == std::errc{} && read.ptr == end ? std::optional{page} : std::nullopt;
}

}  // namespace

/// Pages come from the bits that the desk changes, as they are now: what a client may think older than that is what the
/// caches between us allow, one second.
void FrontDoor::get_numbers(const Tenant& tenant, std::string_view item_id, const Request& request,
                            Exchange& exchange) {
  const Item* const item = catalog_->item_by_id(tenant.no, item_id);
  if (item == nullptr) return refuse(exchange, Code::unknown_item);
  const auto wrong = [&](std::string_view why) { answer(exchange, Code::invalid_request, invalid("page", why)); };
  if (!item->numbered) return wrong("This item has counted stock: it has no numbers.");
  const std::int64_t pages = (item->total + kNumberPageBits - 1) / kNumberPageBits;
  const auto page = page_of(request.query);
  if (!page || *page >= pages) return wrong(fmt::format("The page must be a number from 0 to {}.", pages - 1));
  const auto look = services_.numbers().read(item->no, *page, page_);
  if (!look) return refuse(exchange, Code::unavailable);

  const bool is_json = request.accept.find(kJsonType) != std::string_view::npos;
  const bool is_gaps = !is_json && request.accept.find(kGapsType) != std::string_view::npos;
  // Versions begin anew with the process, so its start is part of what the tag stands for.
  std::string etag = content_tag(fmt::format("{} {} {} {} {}", parts_.started_at.us, item->no.value, *page,
                                             look->version, is_json ? "json" : (is_gaps ? "gaps" : "bits")));
  if (is_unchanged(request.if_none_match, etag)) {
    return answer(exchange, Code::not_modified, not_modified("1", std::move(etag)));
  }
  const std::span words = std::span{page_}.first((look->count + 63) / 64);
  Response response;
  if (is_json) {
    std::string body = fmt::format("{{\"first\":{},\"count\":{},\"free\":{},\"bits\":\"{}\",\"asOf\":", look->first,
                                   look->count, free_of_page(words), base64_text(octets_of_page(words, look->count)));
    append_time(body, now_);
    response = shared(body + "}", "1", std::move(etag));
  } else {
    response =
        shared(is_gaps ? gaps_of_page(words, look->count) : octets_of_page(words, look->count), "1", std::move(etag));
    response.content_type = is_gaps ? kGapsType : "application/octet-stream";
    std::string as_of;
    append_time(as_of, now_);
    response.headers.emplace_back("X-As-Of", as_of.substr(1, as_of.size() - 2));
  }
  response.headers.emplace_back("X-First-Number", fmt::format("{}", look->first));
  response.headers.emplace_back("X-Count", fmt::format("{}", look->count));
  response.headers.emplace_back("Vary", "Accept");
  answer(exchange, Code::ok, response);
}

}  // namespace weir::http
