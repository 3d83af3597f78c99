#include "worker/trainer/checkpoint/replicas.h"

#include <gtest/gtest.h>

#include <bit>

#include "worker/trainer/model/testing/odd_model.h"

namespace caravan::trainer {
namespace {

constexpr BitSums kSums = {100, 20, -1};

std::vector<BitSums> equal_sums(int ranks) {
  return std::vector<BitSums>(static_cast<std::size_t>(ranks), kSums);
}

BitSums with(Replica what, int64_t sum) {
  BitSums sums = kSums;
  sums[static_cast<std::size_t>(what)] = sum;
  return sums;
}

std::string text_of(const std::vector<BitSums>& sums, const planner::MeshShape& mesh) {
  const auto found = difference(sums, mesh);
  return found ? found->what : "";
}

TEST(Replicas, AreEqualWhereNothingIsWrong) {
  EXPECT_EQ(text_of(equal_sums(8), {.tensor = 2, .data = 2, .pipeline = 2}), "");
  // Tensor ranks and stages have weights of their own.
  auto sums = equal_sums(4);
  for (int rank = 0; rank < 4; ++rank) sums[static_cast<std::size_t>(rank)] = with(Replica::Weights, rank);
  EXPECT_EQ(text_of(sums, {.tensor = 2, .data = 1, .pipeline = 2}), "");
}

TEST(Replicas, OneAgainstSeveralIsNamed) {
  auto sums = equal_sums(4);
  sums[2] = with(Replica::Weights, 101);
  EXPECT_EQ(text_of(sums, {.tensor = 1, .data = 4, .pipeline = 1}),
            "the weights of rank 2 are not those of the 3 others that must have the same");
  EXPECT_EQ(difference(sums, {.tensor = 1, .data = 4, .pipeline = 1})->ranks, std::vector<int>{2});
  sums[1] = with(Replica::Weights, 102);
  EXPECT_EQ(text_of(sums, {.tensor = 1, .data = 4, .pipeline = 1}),
            "the weights of ranks 1, 2 are not those of the 2 others that must have the same");
}

TEST(Replicas, OfTwoNobodyKnowsWhichIsRight) {
  auto sums = equal_sums(2);
  sums[1] = with(Replica::Weights, 101);
  EXPECT_EQ(text_of(sums, {.tensor = 1, .data = 2, .pipeline = 1}),
            "the weights of ranks 0, 1 differ, and must be the same");
}

TEST(Replicas, NormsAreThoseOfTheStageAndTablesThoseOfBothEnds) {
  auto sums = equal_sums(8);
  sums[5] = with(Replica::Norms, 21);
  EXPECT_EQ(text_of(sums, {.tensor = 2, .data = 2, .pipeline = 2}),
            "the norms of rank 5 are not those of the 3 others that must have the same");
  auto tied = equal_sums(4);  // tensor 2 x pipeline 2: ranks 0 and 2 share the first half
  for (const std::size_t rank : {0u, 2u}) tied[rank] = with(Replica::Table, 7);
  for (const std::size_t rank : {1u, 3u}) tied[rank] = with(Replica::Table, 8);
  EXPECT_EQ(text_of(tied, {.tensor = 2, .data = 1, .pipeline = 2}), "");
  tied[3] = with(Replica::Table, 9);
  EXPECT_EQ(text_of(tied, {.tensor = 2, .data = 1, .pipeline = 2}),
            "the table of embeddings of ranks 1, 3 differ, and must be the same");
}

TEST(Replicas, AnyBitThatFlipsChangesASum) {
  const planner::ModelShape model = odd_model(24, 8, true);
  const StagePlacement last{.chunks = {{.stage = 1, .first_layer = 4, .layers = 4, .has_head = true}},
                            .tensor_rank = 0,
                            .tensor_size = 2};
  ParameterStore store = allocate_values(lay_out_parameters(model, last, 2), at::kBFloat16);
  initialise_parameters(store, 5);
  constexpr planner::MeshShape kMesh = {.tensor = 2, .data = 2, .pipeline = 2};
  const BitSums before = bit_sums(store, kMesh);
  EXPECT_GE(before[static_cast<std::size_t>(Replica::Table)], 0);
  auto* bits = static_cast<uint16_t*>(store.values.data_ptr());
  for (const Parameter& parameter : store.layout.parameters) {
    for (int64_t bit = 0; bit < 64; ++bit) {
      uint16_t& word = bits[parameter.offset + parameter.elements / 8 * 4 + bit / 16];
      const auto flip = static_cast<uint16_t>(1U << (bit % 16));
      word ^= flip;
      const BitSums after = bit_sums(store, kMesh);
      EXPECT_NE(after[0], before[0]) << parameter.name << " " << bit;
      EXPECT_EQ(after[1] != before[1], parameter.replicated_over_tensor) << parameter.name << " " << bit;
      EXPECT_EQ(after[2] != before[2], parameter.tied_copy) << parameter.name << " " << bit;
      word ^= flip;
    }
  }
}

TEST(Replicas, WhatNobodyElseHasIsNotSummedUp) {
  const planner::ModelShape model = odd_model(24, 8, true);
  const StagePlacement last{.chunks = {{.stage = 1, .first_layer = 4, .layers = 4, .has_head = true}},
                            .tensor_rank = 0,
                            .tensor_size = 2};
  ParameterStore store = allocate_values(lay_out_parameters(model, last, 2), at::kFloat);
  store.values.fill_(1);
  struct Case {
    planner::MeshShape mesh;
    std::array<bool, kReplicas> compared;
  };
  for (const auto& [mesh, compared] : {Case{{.tensor = 1, .data = 1, .pipeline = 1}, {false, false, false}},
                                       Case{{.tensor = 2, .data = 1, .pipeline = 1}, {false, true, false}},
                                       Case{{.tensor = 1, .data = 1, .pipeline = 2}, {false, false, true}},
                                       Case{{.tensor = 1, .data = 2, .pipeline = 1}, {true, true, true}}}) {
    const BitSums sums = bit_sums(store, mesh);
    for (std::size_t i = 0; i < kReplicas; ++i)
      EXPECT_EQ(sums[i] >= 0, compared[i]) << mesh.tensor << mesh.data << mesh.pipeline << " " << i;
  }
}

}  // namespace
}  // namespace caravan::trainer
