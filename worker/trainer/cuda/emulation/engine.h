// Runs kernels on the CPU, so that tests execute them where there is no device: a fiber for each thread of a
// block, and the blocks one after the other, both in a random order that a seed chooses.
//
// Found are: barriers and shuffles that not all threads reach, results that depend on the order of threads,
// shared memory that is read before it is written (it starts as NaN), and in isolation (device_memory.h)
// blocks that meet in memory. Each throws FaultInKernel out of the launch, or shows in the results. With
// sanitizers also reads and writes out of bounds, misaligned accesses and undefined arithmetic. Not found is
// what needs a device: how fast a kernel is, how many registers it takes, and two threads of a block that
// write the same value to one place.
//
// One launch at a time in a process, and all from one thread, or the launch throws: what AddressSanitizer
// keeps of a fiber does not outlive the thread that began it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "worker/trainer/cuda/emulation/device_memory.h"
#include "worker/trainer/cuda/emulation/fault.h"
#include "worker/trainer/cuda/grid.h"

namespace caravan::cuda::emulation {

inline constexpr std::size_t kMaxSharedBytes = std::size_t{227} * 1024;  // of an H100

// Where a kernel calls; not std::source_location, which clang-tidy 14 cannot read.
struct Site {
  const char* file = "";
  int line = 0;

  static Site current(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    return {.file = file, .line = line};
  }
};

struct Index {
  unsigned x;
};

struct Order {
  std::uint64_t seed = 1;
  bool isolate_blocks = false;
  std::optional<unsigned> only_block = std::nullopt;  // of shapes too large to run
};

class Engine {
 public:
  Engine();
  ~Engine();

  void set_order(const Order& order);
  DeviceMemory& memory();
  void launch(const Grid& grid, const std::function<void()>& kernel);

  // The rest is for the thread that runs.
  const Index& thread_index() const;
  const Index& block_index() const;
  const Index& block_size() const;
  const Index& grid_size() const;
  void* shared_memory() const;
  unsigned lane() const;
  // Throws where the address is one of shared memory, which a store to global memory would miss on a device.
  void require_global(const void* address, const Site& site) const;
  void barrier(const Site& site);
  // Gives `sent` to the other lanes of the mask, and returns what the source lane gave.
  std::uint64_t exchange(unsigned mask, std::uint64_t sent, unsigned source, const Site& site);

 private:
  class Impl;
  const std::unique_ptr<Impl> impl_;
};

Engine& engine();

}  // namespace caravan::cuda::emulation
