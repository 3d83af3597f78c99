// Charges the allocations of an allocator that is not ours, of which it hears, to the counters that
// CountingAllocator would charge. A device's memory has no room for a header before each block, so blocks are
// known by their addresses.
#pragma once

#include <cstdint>
#include <mutex>
#include <unordered_map>

#include "worker/trainer/memory/counting_allocator.h"

namespace caravan::trainer {

// Hears of every block, on the thread that asks for it or gives it back; never of one twice in between.
class AllocationListener {
 public:
  virtual ~AllocationListener() = default;
  virtual void allocated(uintptr_t block, int64_t bytes) = 0;
  virtual void freed(uintptr_t block) = 0;
  virtual void refused(int64_t bytes) = 0;  // there was no memory for them
};

// The counter outlives it. Blocks from before it are not known, and cost nothing when they go.
class AllocationTally final : public AllocationListener {
 public:
  explicit AllocationTally(MemoryCounter& counter) : counter_(counter) {}

  void allocated(uintptr_t block, int64_t bytes) override;
  void freed(uintptr_t block) override;
  void refused(int64_t bytes) override;

 private:
  struct Charge {
    MemoryCounter& counter;
    int64_t bytes;
  };

  MemoryCounter& counter_;  // where no scope names another
  std::mutex mutex_;
  std::unordered_map<uintptr_t, Charge> charges_;
};

}  // namespace caravan::trainer
