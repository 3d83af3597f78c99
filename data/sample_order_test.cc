#include "data/sample_order.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <vector>

namespace caravan::data {
namespace {

std::vector<int64_t> epoch_of(const SampleOrder& order, int64_t samples, int64_t epoch) {
  std::vector<int64_t> seen;
  for (int64_t i = 0; i < samples; ++i) seen.push_back(order.sample_at(epoch * samples + i));
  return seen;
}

TEST(SampleOrder, EverySampleComesOncePerEpoch) {
  for (const int64_t samples : {1, 2, 3, 4, 5, 7, 16, 17, 100, 255, 256, 257, 1000, 65537}) {
    const SampleOrder order(samples, 7);
    for (int64_t epoch = 0; epoch < 3; ++epoch) {
      std::vector<int> times(static_cast<size_t>(samples), 0);
      for (const int64_t sample : epoch_of(order, samples, epoch)) {
        ASSERT_GE(sample, 0);
        ASSERT_LT(sample, samples);
        ++times[static_cast<size_t>(sample)];
      }
      EXPECT_EQ(times, std::vector<int>(times.size(), 1)) << samples << " samples, epoch " << epoch;
    }
  }
}

// A change of these numbers changes the data order of every resumed job.
TEST(SampleOrder, TheOrderNeverChanges) {
  EXPECT_EQ(epoch_of(SampleOrder(10, 1), 10, 0), (std::vector<int64_t>{6, 8, 2, 1, 3, 7, 9, 5, 0, 4}));
  EXPECT_EQ(epoch_of(SampleOrder(10, 1), 10, 1), (std::vector<int64_t>{5, 6, 9, 4, 3, 0, 8, 1, 7, 2}));
  EXPECT_EQ(epoch_of(SampleOrder(10, 2), 10, 0), (std::vector<int64_t>{6, 0, 5, 4, 9, 3, 8, 2, 7, 1}));
  EXPECT_EQ(SampleOrder(1'000'000'007, 42).sample_at(123'456'789), 251'586'189);
  EXPECT_EQ(SampleOrder(INT64_MAX, UINT64_MAX).sample_at(INT64_MAX - 1), 3'370'071'885'469'407'842);
}

TEST(SampleOrder, AnEpochLooksShuffled) {
  constexpr int64_t kSamples = 10'000;
  const auto seen = epoch_of(SampleOrder(kSamples, 3), kSamples, 0);
  double displacement = 0;
  int ascents = 0;
  for (int64_t i = 0; i < kSamples; ++i) {
    displacement += static_cast<double>(std::abs(seen[static_cast<size_t>(i)] - i));
    if (i > 0 && seen[static_cast<size_t>(i)] > seen[static_cast<size_t>(i) - 1]) ++ascents;
  }
  // A random permutation has mean displacement n/3 and ascends half of the time.
  EXPECT_NEAR(displacement / kSamples, kSamples / 3.0, kSamples * 0.02);
  EXPECT_NEAR(ascents, kSamples / 2.0, kSamples * 0.02);
}

TEST(SampleOrder, EveryOrderOfThreeSamplesOccurs) {
  std::vector<int> times(27, 0);
  const SampleOrder order(3, 11);
  for (int64_t epoch = 0; epoch < 6000; ++epoch) {
    const auto seen = epoch_of(order, 3, epoch);
    ++times[static_cast<size_t>(seen[0] * 9 + seen[1] * 3 + seen[2])];
  }
  for (const int index : {5, 7, 11, 15, 19, 21}) EXPECT_GT(times[static_cast<size_t>(index)], 500) << index;
}

}  // namespace
}  // namespace caravan::data
