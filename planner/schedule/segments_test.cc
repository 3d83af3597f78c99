#include "planner/schedule/segments.h"

#include <gtest/gtest.h>

#include <numeric>

#include "planner/model/presets.h"

namespace caravan::planner {
namespace {

using Lengths = std::vector<int64_t>;

// As Seq1F1B's authors count a layer with hidden size 4096 and heads of 128.
TokenCost published_cost(int layers, double mlp) {
  constexpr double kHidden = 4096;
  constexpr double kVocabulary = 32000;
  return {.every = layers * (8 * kHidden * kHidden + mlp) + 4 * kHidden * kVocabulary,
          .before = layers * 32.0 * (4 * 128 + 3)};
}

TEST(BalancedSegments, AreThoseOfThePublishedSolver) {
  EXPECT_EQ(balanced_segments(16384, 4, 2, published_cost(24, 4 * 4096.0 * 16384)),
            (Lengths{4930, 4238, 3776, 3440}));
  const TokenCost llama = published_cost(32, 6 * 4096.0 * 11008);
  EXPECT_EQ(balanced_segments(8192, 4, 1, llama), (Lengths{2276, 2102, 1964, 1850}));
  EXPECT_EQ(balanced_segments(16384, 4, 1, llama), (Lengths{4934, 4239, 3775, 3436}));
  EXPECT_EQ(balanced_segments(32768, 4, 1, llama), (Lengths{11056, 8416, 7074, 6222}));
  EXPECT_EQ(balanced_segments(131072, 4, 1, llama), (Lengths{55828, 30835, 24026, 20383}));
}

TEST(BalancedSegments, AreEvenWhereATokenCostsTheSameEverywhere) {
  EXPECT_EQ(balanced_segments(4096, 4, 8, {.every = 5}), (Lengths{1024, 1024, 1024, 1024}));
}

TEST(BalancedSegments, GrowWithTheSquareRootWhereOnlyAttentionCosts) {
  EXPECT_EQ(balanced_segments(16'000'000, 4, 1000, {.before = 1}),
            (Lengths{8'002'000, 3'313'000, 2'542'000, 2'143'000}));
}

TEST(BalancedSegments, OfALlamaDifferByWhatRoundingLeaves) {
  const TokenCost cost = token_cost(*find_preset("llama3.1-8b"));
  for (const int64_t tokens : {8192, 32768, 131072}) {
    const Lengths lengths = balanced_segments(tokens, 4, 8, cost);
    EXPECT_EQ(std::accumulate(lengths.begin(), lengths.end(), int64_t{0}), tokens);
    const auto whole = static_cast<double>(tokens);
    const double share = (cost.every * whole + cost.before * whole * whole / 2) / 4;
    double start = 0;
    for (const int64_t length : lengths) {
      const double end = start + static_cast<double>(length);
      const double took = cost.every * (end - start) + cost.before * (end * end - start * start) / 2;
      EXPECT_NEAR(took, share, 0.015 * share) << tokens;
      start = end;
      EXPECT_EQ(length % 8, 0) << tokens;
    }
  }
}

}  // namespace
}  // namespace caravan::planner
