#include "worker/trainer/memory/ledger.h"

#include <c10/util/Exception.h>

#include <utility>

namespace caravan::trainer {
namespace {

thread_local MemoryLedger* open_ledger = nullptr;

}  // namespace

MemoryLedger::MemoryLedger(std::optional<MemoryLimit> limit)
    : limit_(std::move(limit)), counters_{MemoryCounter(this), MemoryCounter(this), MemoryCounter(this),
                                          MemoryCounter(this), MemoryCounter(this), MemoryCounter(this),
                                          MemoryCounter(this), MemoryCounter(this)} {}

planner::MemoryTerms MemoryLedger::live() const {
  const auto bytes = [&](MemoryUse use) { return counters_[static_cast<std::size_t>(use)].live_bytes(); };
  return {.parameters = bytes(MemoryUse::Parameters),
          .gradients = bytes(MemoryUse::Gradients),
          .optimizer = bytes(MemoryUse::Optimizer),
          .activations = bytes(MemoryUse::Activations),
          .logits = bytes(MemoryUse::Logits),
          .workspace = bytes(MemoryUse::Workspace),
          .communication = bytes(MemoryUse::Communication),
          .snapshot = bytes(MemoryUse::Snapshot)};
}

planner::MemoryTerms MemoryLedger::peak() const {
  const std::scoped_lock lock(mutex_);
  return peak_;
}

void MemoryLedger::reset_peak() {
  const std::scoped_lock lock(mutex_);
  peak_ = live();
}

void MemoryLedger::grown() {
  const planner::MemoryTerms now = live();
  const std::scoped_lock lock(mutex_);
  if (now.total() > peak_.total()) peak_ = now;
}

void MemoryLedger::check_room_for(int64_t bytes) const {
  if (limit_ && live().total() + bytes > limit_->bytes) C10_THROW_ERROR(OutOfMemoryError, limit_->words);
}

LedgerScope::LedgerScope(MemoryLedger& ledger)
    : outer_(open_ledger), activations_(ledger.counter(MemoryUse::Activations)) {
  open_ledger = &ledger;
}

LedgerScope::~LedgerScope() {
  open_ledger = outer_;
}

ChargeAs::ChargeAs(MemoryUse use) {
  if (open_ledger != nullptr) charge_.emplace(open_ledger->counter(use));
}

}  // namespace caravan::trainer
