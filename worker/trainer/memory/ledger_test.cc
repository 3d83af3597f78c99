#include "worker/trainer/memory/ledger.h"

#include <ATen/ops/empty.h>
#include <gtest/gtest.h>

namespace caravan::trainer {
namespace {

TEST(MemoryLedger, SharesOutThePeakAsItWasAtThatMoment) {
  MemoryLedger ledger;
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

}  // namespace
}  // namespace caravan::trainer
