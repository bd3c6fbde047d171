#include "identity/key_set.h"

#include "config/limits.h"
#include "config/secret_file.h"
#include "identity/jwks.h"

#include <cerrno>
#include <fstream>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <openssl/crypto.h>

namespace weir {
namespace {

constexpr std::string_view kSecretSetting = "auth.hs256_secret_file";
constexpr std::string_view kJwksSetting = "auth.jwks_file";

std::unexpected<Error> unfit_jwks(const std::string& path, std::string_view what) {
  return fail(Failure::unfit, fmt::format("{}: {}: {}", kJwksSetting, path, what));
}

Result<std::vector<VerificationKey>> load_jwks(const std::string& path) {
  errno = 0;
  std::ifstream file{path, std::ios::binary};
  std::string text(kJwksBytesMax + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (!file.is_open() || file.bad()) {
    return unfit_jwks(path, fmt::format("cannot be read: {}", std::generic_category().message(errno)));
  }
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (text.size() > kJwksBytesMax) return unfit_jwks(path, fmt::format("holds more than {} bytes", kJwksBytesMax));
  Parsed<std::vector<VerificationKey>> keys = parse_jwks(std::move(text));
  if (!keys) return unfit_jwks(path, keys.error());
  return *std::move(keys);
}

}  // namespace

Result<std::shared_ptr<const KeySet>> KeySet::load(const KeyFiles& files) {
  std::string secret;
  if (!files.hs256_secret_file.empty()) {
    Result<std::string> read = read_secret_file(files.hs256_secret_file, kSecretSetting);
    if (!read) return std::unexpected(std::move(read.error()));
    secret = *std::move(read);
  }
  std::vector<VerificationKey> others;
  if (!files.jwks_file.empty()) {
    Result<std::vector<VerificationKey>> read = load_jwks(files.jwks_file);
    if (!read) return std::unexpected(std::move(read.error()));
    others = *std::move(read);
  }
  Result<std::shared_ptr<const KeySet>> set = from(std::move(secret), std::move(others));
  if (!set && !files.jwks_file.empty()) return unfit_jwks(files.jwks_file, set.error().message);
  return set;
}

Result<std::shared_ptr<const KeySet>> KeySet::from(std::string secret, std::vector<VerificationKey> others) {
  std::vector<VerificationKey> keys;
  keys.reserve(others.size() + 1);
  const bool has_secret = !secret.empty();
  if (has_secret && secret.size() < kSecretBytesMin) {
    return fail(Failure::unfit, fmt::format("{}: a secret has at least {} bytes", kSecretSetting, kSecretBytesMin));
  }
  if (has_secret) keys.push_back({"", Algorithm::hs256, std::move(secret), nullptr});
  for (VerificationKey& other : others) {
    for (const VerificationKey& key : keys) {
      if (key.kid != other.kid) continue;
      return fail(Failure::unfit, other.kid.empty() ? fmt::format("two keys without a kid, counting {}", kSecretSetting)
                                                    : fmt::format("two keys with the kid '{}'", other.kid));
    }
    keys.push_back(std::move(other));
  }
  if (keys.empty()) {
    return fail(Failure::unfit, fmt::format("there is no key for tokens; set {} or {}", kSecretSetting, kJwksSetting));
  }
  return std::shared_ptr<const KeySet>{new KeySet{std::move(keys), has_secret}};
}

KeySet::~KeySet() {
  for (VerificationKey& key : keys_) OPENSSL_cleanse(key.secret.data(), key.secret.size());
}

std::optional<std::size_t> KeySet::find(std::optional<std::string_view> kid) const {
  if (!kid && keys_.size() == 1) return 0;
  if (kid && kid->empty()) return std::nullopt;
  const std::string_view wanted = kid.value_or("");
  for (std::size_t i = 0; i < keys_.size(); ++i) {
    if (keys_[i].kid == wanted) return i;
  }
  return std::nullopt;
}

std::string_view KeySet::signing_secret() const { return has_secret_ ? keys_.front().secret : std::string_view{}; }

}  // namespace weir
