#include "worker/trainer/memory/allocation_tally.h"

namespace caravan::trainer {

void AllocationTally::allocated(uintptr_t block, int64_t bytes) {
  MemoryCounter* const counter = charged_now(counter_);
  if (counter == nullptr) return;
  counter->add(bytes);
  const std::scoped_lock lock(mutex_);
  charges_.emplace(block, Charge{.counter = *counter, .bytes = bytes});
}

void AllocationTally::freed(uintptr_t block) {
  const std::scoped_lock lock(mutex_);
  const auto found = charges_.find(block);
  if (found == charges_.end()) return;
  found->second.counter.remove(found->second.bytes);
  charges_.erase(found);
}

void AllocationTally::refused(int64_t bytes) {
  if (MemoryCounter* const counter = charged_now(counter_)) counter->count_refused(bytes);
}

}  // namespace caravan::trainer
