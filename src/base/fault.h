#pragma once

/// Named fail points: `FAULT("gate_taken")` marks a line at which tests and the simulator may crash or fail the
/// process. Compiled in only with WEIR_FAULTS; a release holds neither the calls nor their names.
#ifdef WEIR_FAULTS

#include <string_view>

namespace weir {

/// What to do when a fail point is reached. The hook may throw, `_exit`, or return.
using FaultHook = void (*)(std::string_view point, void* context);

/// Sets the one hook of the process; null switches all points off.
void set_fault_hook(FaultHook hook, void* context);
void reach_fault(std::string_view point);

}  // namespace weir
#define FAULT(point) ::weir::reach_fault(point)
#else
#define FAULT(point) static_cast<void>(0)
#endif
