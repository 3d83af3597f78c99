// Tells AddressSanitizer which stack is in use; fibers switch between stacks without its notice.
#pragma once

#include <cstddef>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/common_interface_defs.h>
#endif

namespace caravan::cuda::emulation {

struct FiberStack {
  const void* bottom = nullptr;
  std::size_t size = 0;
  void* fake_stack = nullptr;  // where the sanitizer keeps locals, so that their use after a return shows
};

#ifdef __SANITIZE_ADDRESS__
inline void leave_stack(FiberStack& from, const FiberStack& to) {
  __sanitizer_start_switch_fiber(&from.fake_stack, to.bottom, to.size);
}
inline void enter_stack(FiberStack& to, FiberStack& from) {
  __sanitizer_finish_switch_fiber(to.fake_stack, &from.bottom, &from.size);
}
#else
inline void leave_stack(FiberStack&, const FiberStack&) {}
inline void enter_stack(FiberStack&, FiberStack&) {}
#endif

}  // namespace caravan::cuda::emulation
