// What becomes of a shop when an allocation fails: at the boot, inside a claim, inside a change by the organiser. Each
// trial is a process of its own that meets the failure at another place; then this one looks at what is left, as the
// next start does.

#include "app/memory_end.h"

#include "app/engine_bed.h"

#include <cerrno>
#include <cstdlib>
#include <new>
#include <string>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace {

thread_local long allocations = 0;
thread_local long failing = 0;  // The allocation that fails; 0: none.

void* allocate(std::size_t size) {
  if (++allocations == failing) {
    if (const std::new_handler handler = std::get_new_handler()) handler();
    throw std::bad_alloc();
  }
  void* const memory = std::malloc(size == 0 ? 1 : size);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

void* operator new(std::size_t size) { return allocate(size); }
void* operator new[](std::size_t size) { return allocate(size); }
void* operator new(std::size_t size, const std::nothrow_t&) noexcept { return allocate(size); }
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept { return allocate(size); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }

namespace weir {
namespace {

constexpr int kTrialsMax = 40;  // Spread over all allocations of what is tried.
constexpr int kFinished = 0;
constexpr int kMemoryEnded = 3;
constexpr int kWrongAnswer = 9;

/// What a child process came to, and what it said on standard error.
struct Ending {
  int code = -1;
  std::string said;
};

template <typename Work>
Ending in_a_child(Work work) {
  int ends[2] = {-1, -1};
  EXPECT_EQ(::pipe(ends), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(ends[1], STDERR_FILENO);
    end_when_memory_ends();
    ::_exit(work());
  }
  ::close(ends[1]);
  Ending ending;
  char buffer[512];
  for (ssize_t got = 0; (got = ::read(ends[0], buffer, sizeof buffer)) > 0;)  // Ends with the child.
    ending.said.append(buffer, static_cast<std::size_t>(got));
  ::close(ends[0]);
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  ending.code = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  return ending;
}

/// Runs `work` with its n-th allocation failing; 0: counts them.
template <typename Work>
int with_failure(long nth, Work work) {
  allocations = 0;
  failing = nth;
  const int code = work();
  failing = 0;
  return code;
}

class MemoryEnd : public testing::Test {
 protected:
  void SetUp() override { bed.make_sale(kUnits); }

  /// Tries `work` in a started (or, `is_boot`, starting) engine with every n-th allocation failing, and asks `check`
  /// after each.
  template <typename Work, typename Check>
  void try_everywhere(bool is_boot, Work work, Check check) {
    const long all = count(is_boot, work);
    ASSERT_GT(all, 0);
    check(kFinished);
    const long stride = std::max(1L, all / kTrialsMax);
    int ended = 0;
    for (long nth = 1; nth <= all; nth += stride) {
      const Ending ending = in_a_child([&] { return trial(is_boot, nth, work); });
      ASSERT_THAT(ending.code, testing::AnyOf(kFinished, kMemoryEnded)) << "allocation " << nth << ": " << ending.said;
      if (ending.code == kMemoryEnded) {
        EXPECT_THAT(ending.said, testing::HasSubstr("out of memory"));
        ++ended;
      }
      check(ending.code);
      if (testing::Test::HasFatalFailure()) return;
    }
    EXPECT_GT(ended, 0) << "no allocation failed: nothing was tried";
  }

  template <typename Work>
  int trial(bool is_boot, long nth, Work work) {
    if (is_boot) {
      return with_failure(nth, [&] { return bed.start() ? kWrongAnswer : work(); });
    }
    if (bed.start()) return kWrongAnswer;
    return with_failure(nth, work);
  }

  /// How many allocations `work` makes when none fails.
  template <typename Work>
  long count(bool is_boot, Work work) {
    int ends[2] = {-1, -1};
    EXPECT_EQ(::pipe(ends), 0);
    const Ending ending = in_a_child([&] {
      const int code = trial(is_boot, 0, work);
      const long made = allocations;
      return ::write(ends[1], &made, sizeof made) == static_cast<ssize_t>(sizeof made) ? code : kWrongAnswer;
    });
    EXPECT_EQ(ending.code, kFinished) << ending.said;
    long made = 0;
    EXPECT_EQ(::read(ends[0], &made, sizeof made), static_cast<ssize_t>(sizeof made));
    for (const int end : ends) ::close(end);
    return made;
  }

  static constexpr std::int64_t kUnits = 3;
  TemporaryFolder folder;
  EngineBed bed{{.data = folder.path(), .reserve_bytes = 0}};
};

TEST_F(MemoryEnd, DuringABootChangesNothing) {
  try_everywhere(
      true, [] { return kFinished; },
      [&](int) {
        const auto wrong = bed.start();
        ASSERT_FALSE(wrong) << wrong->message;
        EXPECT_EQ(bed.shelf(), (Shelf{.total = kUnits, .free = kUnits, .version = bed.shelf().version}));
        bed.stop();
        ASSERT_EQ(bed.audit(), "");
      });
}

TEST_F(MemoryEnd, InsideAClaimSellsNothingTwiceAndLosesNoUnit) {
  int buyers = 0;
  const auto name = [&] { return "buyer" + std::to_string(buyers); };
  try_everywhere(
      false,
      [&] {
        const auto answer = bed.buy(name());
        return answer && answer->kind == ClaimAnswerKind::accepted ? kFinished : kWrongAnswer;
      },
      [&](int) {
        // The buyer presses again, with the same key; then he cancels, so that the next finds a unit.
        ASSERT_FALSE(bed.start());
        const auto again = bed.buy(name());
        ASSERT_TRUE(again.has_value());
        EXPECT_TRUE(again->kind == ClaimAnswerKind::accepted || again->kind == ClaimAnswerKind::look_up);
        const Shelf shelf = bed.shelf();
        EXPECT_EQ(shelf.held, 1) << "one order for one buyer";
        EXPECT_EQ(shelf.free + shelf.held + shelf.sold, kUnits);
        EXPECT_EQ(bed.settle(LedgerScene::cancel(bed.claim(name(), "k").order, name())), Settled::done);
        EXPECT_EQ(bed.shelf().free, kUnits);
        bed.stop();
        ASSERT_EQ(bed.audit(), "");
        ++buyers;
      });
}

TEST_F(MemoryEnd, InsideAChangeOfStockCountsOnce) {
  std::int64_t total = kUnits;
  int keys = 0;
  const auto add = [&] {
    return bed.change(
        [&](Ledger& ledger) { return ledger.change_stock("default", "item0", 2, "key" + std::to_string(keys)); });
  };
  try_everywhere(
      false, [&] { return add() == Changed::done ? kFinished : kWrongAnswer; },
      [&](int) {
        // The organiser asks again under the same key.
        ASSERT_FALSE(bed.start());
        const auto changed = add();
        EXPECT_TRUE(changed == Changed::done || changed == Changed::repeated);
        total += 2;
        ++keys;
        EXPECT_EQ(bed.shelf().total, total);
        EXPECT_EQ(bed.shelf().free, total);
        bed.stop();
        ASSERT_EQ(bed.audit(), "");
      });
}

}  // namespace
}  // namespace weir
