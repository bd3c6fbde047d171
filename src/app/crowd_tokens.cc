#include "app/crowd_tokens.h"

#include "app/wiring.h"

#include <vector>

#include <fmt/format.h>

namespace weir {
namespace {

constexpr Micros kTokenLife{3'600'000'000};

}  // namespace

Result<std::unique_ptr<crowd::TokenSource>> issue_crowd_tokens(const Settings& settings, std::uint32_t buyers,
                                                               const Clock& clock, Random& random) {
  const auto issuer = open_issuer(settings, random);
  if (!issuer) return std::unexpected(issuer.error());
  const Instant now = clock.now();
  // Two crowds never share a name, so nobody of this one holds an order from an earlier rehearsal.
  const std::string prefix = fmt::format("crowd-{:016x}-", random.next());
  std::vector<std::string> tokens;
  tokens.reserve(buyers);
  for (std::uint32_t i = 1; i <= buyers; ++i) {
    tokens.push_back((*issuer)->issue(fmt::format("{}{}", prefix, i), Role::buyer, {}, now + kTokenLife, now));
  }
  return std::unique_ptr<crowd::TokenSource>{std::make_unique<crowd::TokenList>(std::move(tokens))};
}

Result<std::string> issue_admin_token(const Settings& settings, const Clock& clock, Random& random) {
  const auto issuer = open_issuer(settings, random);
  if (!issuer) return std::unexpected(issuer.error());
  const Instant now = clock.now();
  return (*issuer)->issue("rehearsal", Role::admin, {}, now + kTokenLife, now);
}

}  // namespace weir
