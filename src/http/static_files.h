#pragma once

#include "http/exchange.h"

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace weir::http {

/// One file of the page, in memory.
struct StaticFile {
  std::string_view path;
  std::string_view content_type;
  std::string_view bytes;
};

/// The page's files as whole answers, made once. Ranges are ignored: a whole file is always a lawful answer (B104).
///
/// Threads: never changes once made.
class StaticFiles {
 public:
  explicit StaticFiles(std::span<const StaticFile> files);

  /// Sends the file at this path, or 304 when the client has it; false when there is none.
  [[nodiscard]] bool send(const Request& request, Exchange& exchange) const;

 private:
  struct Entry {
    std::string path;
    std::string etag;
    FixedReply whole;
    FixedReply not_modified;
  };
  std::vector<Entry> entries_;
};

}  // namespace weir::http
