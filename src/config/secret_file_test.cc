#include "config/secret_file.h"

#include "config/limits.h"

#include <filesystem>
#include <fstream>

#include <sys/stat.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class SecretFile : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "secret_" + testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string write(const std::string& content) {
    const std::string path = folder_ + "/key";
    std::ofstream(path, std::ios::binary) << content;
    return path;
  }

  std::string folder_;
  SeededRandom random_{1};
};

TEST_F(SecretFile, OneTrailingNewlineIsNotPartOfTheKey) {
  const std::string key(32, 'k');
  EXPECT_EQ(read_secret_file(write(key), "s").value(), key);
  EXPECT_EQ(read_secret_file(write(key + "\n"), "s").value(), key);
  EXPECT_EQ(read_secret_file(write(key + "\n\n"), "s").value(), key + "\n");
  EXPECT_EQ(read_secret_file(write(" " + key + "\r\n"), "s").value(), " " + key + "\r");
  const std::string with_nul = key + std::string(1, '\0') + "x";
  EXPECT_EQ(read_secret_file(write(with_nul), "s").value(), with_nul);
}

TEST_F(SecretFile, APasswordMayBeShortAndIsNeverEmpty) {
  EXPECT_EQ(read_password_file(write("pw\n"), "s").value(), "pw");
  EXPECT_FALSE(read_password_file(write("\n"), "s"));
  const Result<std::string> cut = read_password_file(write(std::string("pw\0x", 4)), "redis.password_file");
  ASSERT_FALSE(cut) << "a store would read it up to the zero byte";
  EXPECT_THAT(cut.error().message, HasSubstr("redis.password_file"));
}

TEST_F(SecretFile, KeysUnder32BytesAreRefusedByName) {
  const Result<std::string> shorter = read_secret_file(write(std::string(31, 'k') + "\n"), "auth.hs256_secret_file");
  ASSERT_FALSE(shorter);
  EXPECT_EQ(shorter.error().failure, Failure::unfit);
  EXPECT_THAT(shorter.error().message, HasSubstr("auth.hs256_secret_file"));
  EXPECT_THAT(shorter.error().message, Not(HasSubstr("kkkk")));
  EXPECT_FALSE(read_secret_file(write(""), "s"));
  EXPECT_TRUE(read_secret_file(write(std::string(kSecretBytesMax, 'k') + "\n"), "s"));
  EXPECT_FALSE(read_secret_file(write(std::string(kSecretBytesMax + 2, 'k')), "s"));
  EXPECT_FALSE(read_secret_file(folder_, "s")) << "a folder is no key";
  EXPECT_FALSE(read_secret_file(folder_ + "/none", "s"));
}

TEST_F(SecretFile, TheFirstStartMakesAKeyThatOnlyThisUserReads) {
  const std::string path = folder_ + "/key";
  const std::string made = read_or_make_secret_file(path, "s", random_).value();
  EXPECT_EQ(made.size(), 64U);
  struct stat facts{};
  ASSERT_EQ(::stat(path.c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777U, 0600U);
  EXPECT_EQ(judge_secret(made), SecretQuality::good);
  EXPECT_EQ(read_or_make_secret_file(path, "s", random_).value(), made) << "the second start finds the first one's";
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()), 1) << "no draft stays behind";
}

TEST_F(SecretFile, AnExistingFileIsNeverReplaced) {
  const std::string path = write("short");
  EXPECT_FALSE(read_or_make_secret_file(path, "s", random_));
  std::string content;
  std::ifstream(path) >> content;
  EXPECT_EQ(content, "short");
  EXPECT_FALSE(read_or_make_secret_file(folder_ + "/no/such/folder/key", "s", random_));
}

TEST(SecretQuality, SamplesAndRepeatsAreNoSecrets) {
  EXPECT_EQ(judge_secret("x"), SecretQuality::too_short);
  EXPECT_EQ(judge_secret("ChangeMe-ChangeMe-ChangeMe-ChangeMe"), SecretQuality::sample);
  EXPECT_EQ(judge_secret("your-256-bit-secret-your-256-bit-secret"), SecretQuality::sample);
  EXPECT_EQ(judge_secret(std::string(64, 'a')), SecretQuality::repetitive);
  EXPECT_EQ(judge_secret("f3a9c1e57b20d8846af15c93be07d24f"), SecretQuality::good);
}

}  // namespace
}  // namespace weir
