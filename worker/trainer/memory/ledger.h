// What a rank's tensors are used for, and how that was shared out at the moment of the peak.
//
// Lives as long as tensors are made; one at a time. What is allocated outside a charge counts as activations.
#pragma once

#include <array>
#include <mutex>

#include "worker/trainer/memory/counting_allocator.h"
#include "worker/trainer/memory/memory_breakdown.h"

namespace caravan::trainer {

enum class MemoryUse { Parameters, Gradients, Optimizer, Activations, Logits, Workspace, Communication };

class MemoryLedger final : private GrowthListener {
 public:
  MemoryLedger();

  // For CountTo: `const CountTo charge(ledger.counter(MemoryUse::Gradients));`
  MemoryCounter& counter(MemoryUse use) { return counters_[static_cast<std::size_t>(use)]; }

  MemoryBreakdown live() const;
  MemoryBreakdown peak() const;

 private:
  static constexpr std::size_t kUses = 7;

  void grown() override;

  std::array<MemoryCounter, kUses> counters_;
  mutable std::mutex mutex_;
  MemoryBreakdown peak_;
  CountingAllocator allocator_;
};

}  // namespace caravan::trainer
