#pragma once

#include <string>
#include <string_view>

/// The text that says how to reach PostgreSQL, in either form that libpq reads: `host=db user=weir` and
/// `postgresql://weir@db/shop`.
namespace weir {

/// The same text with every secret in it replaced by `(hidden)`. A text that cannot be taken apart is hidden whole.
[[nodiscard]] std::string dsn_without_secrets(std::string_view dsn);

/// The same text with this password added; it wins over one that the text has. Neither is printed by anybody.
[[nodiscard]] std::string dsn_with_password(std::string_view dsn, std::string_view password);

}  // namespace weir
