#include "worker/trainer/memory/ledger.h"

#include <ATen/ops/empty.h>
#include <c10/util/Exception.h>
#include <gtest/gtest.h>

namespace caravan::trainer {
namespace {

TEST(MemoryLedger, SharesOutThePeakAsItWasAtThatMoment) {
  MemoryLedger ledger;
  const CountingAllocator allocator(ledger.counter(MemoryUse::Activations));
  at::Tensor parameters;
  {
    const CountTo charge(ledger.counter(MemoryUse::Parameters));
    parameters = at::empty({100}, at::kFloat);
  }
  {
    const at::Tensor activations = at::empty({50}, at::kFloat);
    const CountTo charge(ledger.counter(MemoryUse::Workspace));
    const at::Tensor workspace = at::empty({25}, at::kFloat);
  }
  const at::Tensor later = at::empty({60}, at::kFloat);

  EXPECT_EQ(ledger.peak().parameters, 400);
  EXPECT_EQ(ledger.peak().activations, 200);
  EXPECT_EQ(ledger.peak().workspace, 100);
  EXPECT_EQ(ledger.peak().total(), 700);
  EXPECT_EQ(ledger.live().total(), 640);
}

TEST(MemoryLedger, RefusesWhatWouldBeMoreThanAllItsUsesMayHave) {
  MemoryLedger ledger(MemoryLimit{.bytes = 1000, .words = "there are 1,000 bytes"});
  const CountingAllocator allocator(ledger.counter(MemoryUse::Activations));
  const CountTo charge(ledger.counter(MemoryUse::Parameters));
  const at::Tensor parameters = at::empty({150}, at::kFloat);
  {
    const CountTo workspace(ledger.counter(MemoryUse::Workspace));
    EXPECT_NO_THROW(at::empty({100}, at::kFloat));
    EXPECT_THROW(at::empty({101}, at::kFloat), c10::OutOfMemoryError);
  }
  EXPECT_EQ(ledger.live().total(), 600);
  EXPECT_EQ(ledger.peak().workspace, 404) << "refused";
}

TEST(MemoryLedger, ChargesAsTheInnermostScopeSaysAndNothingWhereNoLedgerIsOpen) {
  MemoryCounter other;
  MemoryLedger ledger;
  const CountingAllocator allocator(other);
  const ChargeAs nowhere(MemoryUse::Logits);
  const at::Tensor uncharged = at::empty({10}, at::kFloat);
  at::Tensor kept;
  {
    const LedgerScope open(ledger);
    kept = at::empty({5}, at::kFloat);
    const ChargeAs logits(MemoryUse::Logits);
    const at::Tensor chunk = at::empty({7}, at::kFloat);
    const ChargeAs workspace(MemoryUse::Workspace);
    const at::Tensor block = at::empty({9}, at::kFloat);
    EXPECT_EQ(ledger.live().logits, 28);
    EXPECT_EQ(ledger.live().workspace, 36);
  }
  EXPECT_EQ(other.live_bytes(), 40);
  EXPECT_EQ(ledger.live().total(), 20);
  ledger.reset_peak();
  EXPECT_EQ(ledger.peak().total(), 20);
}

}  // namespace
}  // namespace caravan::trainer
