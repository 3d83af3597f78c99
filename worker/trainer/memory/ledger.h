// What a rank's tensors are used for, and how that was shared out at the moment of the peak.
//
// A ledger hears of what is charged to its counters while a CountingAllocator lives. Within a LedgerScope
// what its thread makes counts as activations, or as what the innermost ChargeAs says; where no ledger is
// open, ChargeAs does nothing. A ledger outlives the tensors that it counts. It refuses what would be more
// than they all may have, where the kernel would kill somebody later.
#pragma once

#include <array>
#include <mutex>
#include <optional>
#include <string>

#include "planner/memory/memory_terms.h"
#include "worker/trainer/memory/counting_allocator.h"

namespace caravan::trainer {

enum class MemoryUse {
  Parameters,
  Gradients,
  Optimizer,
  Activations,
  Logits,
  Workspace,
  Communication,
  Snapshot
};

struct MemoryLimit {
  int64_t bytes = 0;
  std::string words;  // of the refusal
};

class MemoryLedger final : private GrowthListener {
 public:
  explicit MemoryLedger(std::optional<MemoryLimit> limit = std::nullopt);

  // For CountTo: `const CountTo charge(ledger.counter(MemoryUse::Gradients));`
  MemoryCounter& counter(MemoryUse use) { return counters_[static_cast<std::size_t>(use)]; }

  // Without overhead, which no tensor takes.
  planner::MemoryTerms live() const;
  planner::MemoryTerms peak() const;
  // The peak counts anew from what is alive now.
  void reset_peak();

 private:
  static constexpr std::size_t kUses = 8;

  void grown() override;
  void check_room_for(int64_t bytes) const override;

  const std::optional<MemoryLimit> limit_;
  std::array<MemoryCounter, kUses> counters_;
  mutable std::mutex mutex_;
  planner::MemoryTerms peak_;
};

class LedgerScope {
 public:
  explicit LedgerScope(MemoryLedger& ledger);
  ~LedgerScope();
  LedgerScope(const LedgerScope&) = delete;
  LedgerScope& operator=(const LedgerScope&) = delete;

 private:
  MemoryLedger* const outer_;
  const CountTo activations_;
};

class ChargeAs {
 public:
  explicit ChargeAs(MemoryUse use);

 private:
  std::optional<CountTo> charge_;
};

}  // namespace caravan::trainer
