#include "gate/redis_scripts.h"

#include "base/check.h"
#include "base/encoding.h"
#include "gate/redis_scripts_text.h"

#include <array>

#include <openssl/evp.h>

namespace weir {

RedisScript RedisScript::of(std::initializer_list<std::string_view> parts) {
  RedisScript made;
  for (const std::string_view part : parts) made.text.append(part);
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  CHECK(EVP_Digest(made.text.data(), made.text.size(), digest.data(), &size, EVP_sha1(), nullptr) == 1);
  made.sha = hex_text({reinterpret_cast<const char*>(digest.data()), size});
  return made;
}

RedisScripts::RedisScripts()
    : reserve(RedisScript::of({kLuaGuard, kLuaPlan, kLuaReserve})),
      adopt(RedisScript::of({kLuaGuard, kLuaPlan, kLuaAdopt})),
      restore(RedisScript::of({kLuaGuard, kLuaPlan, kLuaRestore})),
      release(RedisScript::of({kLuaGuard, kLuaPlan, kLuaRelease})),
      confirm(RedisScript::of({kLuaGuard, kLuaPlan, kLuaConfirm})),
      sell(RedisScript::of({kLuaGuard, kLuaPlan, kLuaSell})),
      restock(RedisScript::of({kLuaGuard, kLuaPlan, kLuaRestock})),
      terms(RedisScript::of({kLuaGuard, kLuaPlan, kLuaTerms})),
      shelf(RedisScript::of({kLuaGuard, kLuaPlan, kLuaShelf})),
      hold(RedisScript::of({kLuaGuard, kLuaHold})),
      in_flight(RedisScript::of({kLuaGuard, kLuaInFlight})),
      look(RedisScript::of({kLuaGuard, kLuaLook})),
      close(RedisScript::of({kLuaGuard, kLuaClose})),
      start_build(RedisScript::of({kLuaGuard, kLuaStartBuild})),
      remember(RedisScript::of({kLuaGuard, kLuaRemember})),
      open_epoch(RedisScript::of({kLuaGuard, kLuaOpenEpoch})),
      drop_older(RedisScript::of({kLuaGuard, kLuaDropOlder})) {}

}  // namespace weir
