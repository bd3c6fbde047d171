// What a power cut leaves of a secret that is being made. The calls that decide it are replaced in this program and
// written down, so that the order is seen and each can fail.

#include "config/secret_file.h"

#include <cerrno>
#include <filesystem>
#include <string>
#include <vector>

#include <sys/stat.h>
#include <unistd.h>

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace {

struct Calls {
  std::vector<std::string> seen;
  std::string failing;  // The call that fails, and every one like it.

  bool note(const std::string& call) {
    seen.push_back(call);
    if (call != failing) return true;
    errno = EIO;
    return false;
  }
};
Calls calls;

template <typename Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" {

int fsync(int descriptor) {
  struct stat facts{};
  const bool is_folder = ::fstat(descriptor, &facts) == 0 && S_ISDIR(facts.st_mode);
  return calls.note(is_folder ? "sync folder" : "sync file") ? next<int(int)>("fsync")(descriptor) : -1;
}

int link(const char* from, const char* to) noexcept {
  return calls.note("name") ? next<int(const char*, const char*)>("link")(from, to) : -1;
}

}  // extern "C"

namespace weir {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;

class SecretSync : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "secret_sync_" + testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    calls = {};
  }
  void TearDown() override {
    calls.failing.clear();
    fs::remove_all(folder_);
  }

  Result<std::string> make() { return read_or_make_secret_file(folder_ + "/key", "s", random_); }
  [[nodiscard]] std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_)) names.push_back(entry.path().filename());
    return names;
  }

  std::string folder_;
  SeededRandom random_{1};
};

TEST_F(SecretSync, F48_ANewSecretIsSyncedThenNamedThenItsFolderIsSynced) {
  ASSERT_TRUE(make());
  EXPECT_THAT(calls.seen, ElementsAre("sync file", "name", "sync folder"));
}

TEST_F(SecretSync, F48_ASecretThatCouldNotBeSyncedHasNoName) {
  calls.failing = "sync file";
  EXPECT_FALSE(make());
  EXPECT_THAT(files(), ElementsAre());
}

TEST_F(SecretSync, F48_ASecretWhoseNameMayBeLostIsNotUsed) {
  calls.failing = "sync folder";
  EXPECT_FALSE(make()) << "what was signed with it would be worth nothing after a power cut";
  calls.failing.clear();
  EXPECT_TRUE(make()) << "the next start finds it";
}

TEST_F(SecretSync, F48_ASecretThatIsFoundMayHaveBeenNamedByAProcessThatDied) {
  ASSERT_TRUE(make());
  calls.seen.clear();
  ASSERT_TRUE(make());
  EXPECT_THAT(calls.seen, ElementsAre("sync folder"));
}

TEST_F(SecretSync, F48_AFailureSaysWhyAndLeavesNoDraft) {
  calls.failing = "name";
  const auto made = make();
  ASSERT_FALSE(made);
  EXPECT_THAT(made.error().message, testing::HasSubstr("Input/output error"));
  EXPECT_THAT(files(), ElementsAre());
}

}  // namespace
}  // namespace weir
