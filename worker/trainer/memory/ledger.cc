#include "worker/trainer/memory/ledger.h"

namespace caravan::trainer {

MemoryLedger::MemoryLedger()
    : counters_{MemoryCounter(this), MemoryCounter(this), MemoryCounter(this), MemoryCounter(this),
                MemoryCounter(this), MemoryCounter(this), MemoryCounter(this)},
      allocator_(counter(MemoryUse::Activations)) {}

MemoryBreakdown MemoryLedger::live() const {
  const auto bytes = [&](MemoryUse use) { return counters_[static_cast<std::size_t>(use)].live_bytes(); };
  return {.parameters = bytes(MemoryUse::Parameters),
          .gradients = bytes(MemoryUse::Gradients),
          .optimizer = bytes(MemoryUse::Optimizer),
          .activations = bytes(MemoryUse::Activations),
          .logits = bytes(MemoryUse::Logits),
          .workspace = bytes(MemoryUse::Workspace),
          .communication = bytes(MemoryUse::Communication)};
}

MemoryBreakdown MemoryLedger::peak() const {
  const std::scoped_lock lock(mutex_);
  return peak_;
}

void MemoryLedger::grown() {
  const MemoryBreakdown now = live();
  const std::scoped_lock lock(mutex_);
  if (now.total() > peak_.total()) peak_ = now;
}

}  // namespace caravan::trainer
