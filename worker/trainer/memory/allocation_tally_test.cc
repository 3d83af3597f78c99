#include "worker/trainer/memory/allocation_tally.h"

#include <gtest/gtest.h>

#include "worker/trainer/memory/ledger.h"

namespace caravan::trainer {
namespace {

TEST(AllocationTally, ChargesBlocksToTheScopeThatAskedForThem) {
  MemoryLedger ledger;
  AllocationTally tally(ledger.counter(MemoryUse::Activations));
  tally.allocated(0x1000, 100);
  {
    const CountTo charge(ledger.counter(MemoryUse::Gradients));
    tally.allocated(0x2000, 30);
  }
  EXPECT_EQ(ledger.live().activations, 100);
  EXPECT_EQ(ledger.live().gradients, 30);
  tally.freed(0x2000);  // in another scope
  tally.freed(0x1000);
  EXPECT_EQ(ledger.live().total(), 0);
  EXPECT_EQ(ledger.peak().total(), 130);
}

TEST(AllocationTally, AnAddressIsUsedAgain) {
  MemoryCounter counter;
  AllocationTally tally(counter);
  for (const int64_t bytes : {8, 16}) {
    tally.allocated(0x1000, bytes);
    EXPECT_EQ(counter.live_bytes(), bytes);
    tally.freed(0x1000);
  }
  EXPECT_EQ(counter.live_bytes(), 0);
  EXPECT_EQ(counter.peak_bytes(), 16);
}

TEST(AllocationTally, WhatIsRefusedCountsTowardsThePeakOfWhoAskedForIt) {
  MemoryLedger ledger;
  AllocationTally tally(ledger.counter(MemoryUse::Activations));
  tally.allocated(0x1000, 100);
  {
    const CountTo charge(ledger.counter(MemoryUse::Gradients));
    tally.refused(30);
  }
  EXPECT_EQ(ledger.live().total(), 100);
  EXPECT_EQ(ledger.peak().gradients, 30);
  EXPECT_EQ(ledger.peak().total(), 130);
  {
    const LibraryScratch scratch;
    tally.refused(1000);
  }
  EXPECT_EQ(ledger.peak().total(), 130);
}

TEST(AllocationTally, LeavesOutWhatALibraryTakesForItselfAndWhatCameBefore) {
  MemoryCounter counter;
  AllocationTally tally(counter);
  {
    const LibraryScratch scratch;
    tally.allocated(0x1000, 100);
  }
  EXPECT_EQ(counter.live_bytes(), 0);
  tally.freed(0x1000);
  tally.freed(0x3000);
  EXPECT_EQ(counter.live_bytes(), 0);
}

}  // namespace
}  // namespace caravan::trainer
