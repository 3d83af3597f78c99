#include "cli/init/training_sizes.h"

#include <gtest/gtest.h>

#include "planner/model/presets.h"

namespace caravan::cli {
namespace {

TrainingSizes sizes_of(const char* preset, std::optional<int64_t> tokens, int devices) {
  const auto sizes = choose_sizes(*planner::find_preset(preset), tokens, devices);
  EXPECT_TRUE(sizes) << sizes.error().message;
  return sizes.value_or(TrainingSizes{});
}

TEST(TrainingSizes, OfASmallModelAreThoseOfMinutes) {
  const TrainingSizes minutes{.steps = 200, .sequence_length = 128, .global_batch_sequences = 8};
  EXPECT_EQ(sizes_of("llama-mini", std::nullopt, 2), minutes);
  EXPECT_EQ(sizes_of("llama-mini", 4'298'239, 2), minutes);
}

TEST(TrainingSizes, OfAPublishedModelAreOneEpochOfItsLongSequences) {
  EXPECT_EQ(sizes_of("llama3.1-8b", std::nullopt, 64),
            (TrainingSizes{.steps = 20'000, .sequence_length = 8192, .global_batch_sequences = 512}));
  EXPECT_EQ(sizes_of("llama2-7b", int64_t{100} << 22, 64),
            (TrainingSizes{.steps = 99, .sequence_length = 4096, .global_batch_sequences = 1024}))
      << "the last token has no successor, so one step less than a hundred is whole";
}

TEST(TrainingSizes, OfFewDataAreSmall) {
  for (const int64_t tokens : {17, 100, 1000, 5000, 20'000}) {
    for (const int devices : {1, 2, 3, 8}) {
      const auto sizes = choose_sizes(*planner::find_preset("llama-tiny"), tokens, devices);
      if (!sizes) {
        EXPECT_LT(tokens, 16 * devices + 1) << devices;
        continue;
      }
      EXPECT_LE(int64_t{sizes->sequence_length} * sizes->global_batch_sequences, tokens) << devices;
      EXPECT_EQ(sizes->global_batch_sequences % devices, 0) << tokens;
    }
  }
}

TEST(TrainingSizes, GiveEachDeviceASequence) {
  EXPECT_EQ(sizes_of("llama-tiny", std::nullopt, 12).global_batch_sequences, 12);
  EXPECT_EQ(sizes_of("llama3-8b", std::nullopt, 1024).global_batch_sequences, 1024);
}

TEST(TrainingSizes, OfTooFewDataAreAnErrorWithTheLeast) {
  const auto sizes = choose_sizes(*planner::find_preset("llama-tiny"), 32, 2);
  ASSERT_FALSE(sizes);
  EXPECT_EQ(sizes.error().code, ExitCode::kBadInput);
  EXPECT_EQ(
      sizes.error().message,
      "32 tokens are too few for 2 devices; a step of 16 tokens for each takes 33: give more text, or fewer "
      "--devices");
  EXPECT_EQ(choose_sizes(*planner::find_preset("llama-tiny"), 1, 1).error().message,
            "1 token is too few for 1 device; a step of 16 tokens for each takes 17: give more text");
}

}  // namespace
}  // namespace caravan::cli
