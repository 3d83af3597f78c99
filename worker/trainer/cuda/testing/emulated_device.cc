#include <cstring>

#include "worker/trainer/cuda/emulation/engine.h"
#include "worker/trainer/cuda/testing/device.h"

namespace caravan::cuda::testing {

using emulation::engine;

std::optional<std::string> missing_device() {
  return std::nullopt;
}

void* device_allocate(std::size_t bytes) {
  return engine().memory().allocate(bytes);
}
void device_free(void* start) {
  engine().memory().free(start);
}
void copy_to_device(void* to, const void* from, std::size_t bytes) {
  if (bytes > 0) std::memcpy(to, from, bytes);
}
void copy_from_device(void* to, const void* from, std::size_t bytes) {
  if (bytes > 0) std::memcpy(to, from, bytes);
}

// The last one isolates the blocks from each other.
int thread_orders() {
  return 4;
}
void set_thread_order(int order) {
  engine().set_order(
      {.seed = static_cast<std::uint64_t>(order) + 1, .isolate_blocks = order == thread_orders() - 1});
}

}  // namespace caravan::cuda::testing
