#include "config/dsn_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(DsnText, EverythingButTheSecretIsShown) {
  const std::vector<std::pair<std::string, std::string>> cases{
      {"", ""},
      {"host=db user=weir", "host=db user=weir"},
      {"host=db password=hunter2 user=weir", "host=db password=(hidden) user=weir"},
      {"password = 'hunt er\\'2' host=db", "password=(hidden) host=db"},
      {"password=hunter\\ 2 host=db", "password=(hidden) host=db"},
      {"sslpassword=hunter2", "sslpassword=(hidden)"},
      {"password='hunter2", "(hidden)"},
      {"hunter2", "(hidden)"},
      {"postgresql://db/shop", "postgresql://db/shop"},
      {"postgres://ana@db/shop?sslmode=verify-full", "postgres://ana@db/shop?sslmode=verify-full"},
      {"postgres://ana:hunter2@db:5432/shop", "postgres://ana:(hidden)@db:5432/shop"},
      {"postgres://ana:hunt@er2@db/shop", "postgres://ana:(hidden)@db/shop"},
      {"postgres://ana:hunter:2@db/shop", "postgres://ana:(hidden)@db/shop"},
      {"postgres://db/shop?user=ana&password=hunter2&a=b", "postgres://db/shop?user=ana&password=(hidden)&a=b"},
      {"postgres://db/shop?p%61ssword=hunter2", "postgres://db/shop?p%61ssword=(hidden)"},
      {"postgres://ana:hun?ter2@db/shop", "postgres://(hidden)"}};
  for (const auto& [dsn, shown] : cases) {
    EXPECT_EQ(dsn_without_secrets(dsn), shown) << dsn;
    EXPECT_THAT(dsn_without_secrets(dsn), Not(HasSubstr("ter2"))) << dsn;
  }
}

TEST(DsnText, APasswordIsAddedInTheFormOfTheText) {
  EXPECT_EQ(dsn_with_password("host=db", "a 'b\\"), "host=db password='a \\'b\\\\'");
  EXPECT_EQ(dsn_with_password("", "a"), "password='a'");
  EXPECT_EQ(dsn_with_password("postgres://db/shop", "a&b@ /"), "postgres://db/shop?password=a%26b%40%20%2F");
  EXPECT_EQ(dsn_with_password("postgres://db/shop?sslmode=require", "a"),
            "postgres://db/shop?sslmode=require&password=a");
}

TEST(DsnText, AnAddedPasswordIsHiddenToo) {
  for (const std::string dsn : {"host=db password=hunter2", "postgres://ana:hunter2@db/shop?sslmode=require"}) {
    EXPECT_THAT(dsn_without_secrets(dsn_with_password(dsn, "wi'nter 2")), Not(HasSubstr("nter"))) << dsn;
  }
}

}  // namespace
}  // namespace weir
