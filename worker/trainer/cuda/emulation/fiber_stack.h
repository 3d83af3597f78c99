// Tells sanitizers which stack is in use, and which threads of a kernel wait for each other; fibers switch
// without their notice.
//
// To ThreadSanitizer each fiber is a thread that nothing orders but barriers, and the beginning and the end
// of its block; blocks are one behind the other. A shuffle orders no memory, as in CUDA.
#pragma once

#include <cstddef>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef _GLIBCXX_TSAN  // GCC's macro is taken back in this preset
#include <sanitizer/tsan_interface.h>
#endif

namespace caravan::cuda::emulation {

#ifdef __SANITIZE_ADDRESS__
struct FiberStack {
  const void* bottom = nullptr;
  std::size_t size = 0;
  void* fake_stack = nullptr;  // where the sanitizer keeps locals, so that their use after a return shows
};
inline void leave_stack(FiberStack& from, const FiberStack& to) {
  __sanitizer_start_switch_fiber(&from.fake_stack, to.bottom, to.size);
}
inline void enter_stack(FiberStack& to, FiberStack& from) {
  __sanitizer_finish_switch_fiber(to.fake_stack, &from.bottom, &from.size);
}
#else
struct FiberStack {
  const void* bottom = nullptr;
  std::size_t size = 0;
#ifdef _GLIBCXX_TSAN
  // Without a stack of its own it is the thread that asks, on which kernels are launched.
  void* fiber = bottom == nullptr ? __tsan_get_current_fiber() : __tsan_create_fiber(0);
#endif
};
inline void leave_stack(FiberStack&, [[maybe_unused]] const FiberStack& to) {
#ifdef _GLIBCXX_TSAN
  __tsan_switch_to_fiber(to.fiber, __tsan_switch_to_fiber_no_sync);
#endif
}
inline void enter_stack(FiberStack&, FiberStack&) {}
#endif

// What is before happens_before(place) is seen behind happens_after(place).
inline void happens_before([[maybe_unused]] void* place) {
#ifdef _GLIBCXX_TSAN
  __tsan_release(place);
#endif
}
inline void happens_after([[maybe_unused]] void* place) {
#ifdef _GLIBCXX_TSAN
  __tsan_acquire(place);
#endif
}

}  // namespace caravan::cuda::emulation
