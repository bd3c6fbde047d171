#include "base/sha256.h"

#include "base/encoding.h"

#include <openssl/sha.h>

namespace weir {

std::array<char, 32> sha256(std::string_view bytes) {
  std::array<char, 32> digest{};
  SHA256(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(),
         reinterpret_cast<unsigned char*>(digest.data()));
  return digest;
}

std::string sha256_hex(std::string_view bytes) {
  const std::array<char, 32> digest = sha256(bytes);
  return hex_text({digest.data(), digest.size()});
}

}  // namespace weir
