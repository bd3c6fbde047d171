#include "base/fault.h"

#ifdef WEIR_FAULTS

#include <atomic>

namespace weir {
namespace {

std::atomic<FaultHook> g_hook{nullptr};
std::atomic<void*> g_context{nullptr};

}  // namespace

void set_fault_hook(FaultHook hook, void* context) {
  g_context.store(context);
  g_hook.store(hook);
}

void reach_fault(std::string_view point) {
  const FaultHook hook = g_hook.load(std::memory_order_relaxed);
  if (hook != nullptr) hook(point, g_context.load());
}

}  // namespace weir

#endif
