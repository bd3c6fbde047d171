#include "app/memory_end.h"

#include "app/exit.h"

#include <cstdlib>
#include <new>
#include <string_view>

#include <unistd.h>

namespace weir {
namespace {

/// Takes no memory itself.
[[noreturn]] void end_process() {
  constexpr std::string_view kSentence =
      "weir: out of memory: the process ends. What was answered is in the ledger; the next start goes on from there.\n";
  static_cast<void>(::write(STDERR_FILENO, kSentence.data(), kSentence.size()));
  std::_Exit(static_cast<int>(Exit::unfit));
}

}  // namespace

void end_when_memory_ends() { std::set_new_handler(&end_process); }

}  // namespace weir
