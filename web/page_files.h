#pragma once

#include <span>
#include <string_view>

namespace weir {

/// One file of the page that stands at `/`, as it is sent.
struct PageFile {
  std::string_view path;          // As in a request: `/`, `/page.css`.
  std::string_view content_type;  // A literal, with the character set of texts.
  std::string_view bytes;
};

/// Every file of the page, `/` first. They are part of the program: nothing is read at run time and the views live
/// for ever. Threads: any.
[[nodiscard]] std::span<const PageFile> page_files();

}  // namespace weir
