#pragma once

#include <string>
#include <string_view>

namespace weir {

/// Appends `text` as a JSON string with its quotes. Control characters are escaped; bytes that are not UTF-8 become
/// U+FFFD, so the result is always valid JSON.
void append_json_string(std::string& out, std::string_view text);

}  // namespace weir
