#pragma once

#include "base/result.h"
#include "identity/verification_key.h"

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weir {

/// Where keys come from; an empty path is a source that is not used.
struct KeyFiles {
  std::string hs256_secret_file;
  std::string jwks_file;
};

/// All keys whose signatures are believed. Invariants: at least one key, no `kid` twice, at most one key without one,
/// and each key has one algorithm. Never changed after loading: the caller swaps the whole set (SIGHUP) and makes new
/// verifiers; tokens of a key that is no longer in the set are refused from then on.
///
/// Threads: any.
class KeySet {
 public:
  /// Reads both files. Failures: `unfit`, with the file, the setting and what is wrong; nothing is half loaded.
  /// Blocking: reads files.
  [[nodiscard]] static Result<std::shared_ptr<const KeySet>> load(const KeyFiles& files);
  /// Joins the secret of `auth.hs256_secret_file` (empty: none) and keys of a JWKS.
  [[nodiscard]] static Result<std::shared_ptr<const KeySet>> from(std::string secret,
                                                                  std::vector<VerificationKey> others);
  ~KeySet();
  KeySet(const KeySet&) = delete;
  KeySet& operator=(const KeySet&) = delete;

  /// The place in `keys()` of the key that a token with this `kid` must be signed with. Without a `kid`: the key that
  /// has none, else the only one. Null when the token names none of ours or leaves a choice.
  [[nodiscard]] std::optional<std::size_t> find(std::optional<std::string_view> kid) const;
  [[nodiscard]] std::span<const VerificationKey> keys() const { return keys_; }
  /// The secret that our own tokens are signed with; empty when there is no `auth.hs256_secret_file`.
  [[nodiscard]] std::string_view signing_secret() const;

 private:
  KeySet(std::vector<VerificationKey> keys, bool has_secret) : keys_(std::move(keys)), has_secret_(has_secret) {}

  std::vector<VerificationKey> keys_;
  bool has_secret_;  // Then it is the first of `keys_`.
};

}  // namespace weir
