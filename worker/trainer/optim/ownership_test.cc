#include "worker/trainer/optim/ownership.h"

#include <gtest/gtest.h>

namespace caravan::trainer {
namespace {

Parameter parameter(int bucket, int64_t offset, int64_t elements, bool weight_decay = true) {
  Parameter made;
  made.bucket = bucket;
  made.offset = offset;
  made.elements = elements;
  made.weight_decay = weight_decay;
  return made;
}

// Bucket 0: a matrix of 10 elements, 2 of padding. Bucket 1: a norm of 2, matrices of 4 and 6.
ParameterLayout small_layout() {
  ParameterLayout layout;
  layout.parameters = {parameter(0, 0, 10), parameter(1, 12, 2, false), parameter(1, 14, 4),
                       parameter(1, 18, 6)};
  layout.buckets = {{.name = "embedding", .offset = 0, .elements = 12},
                    {.name = "layer", .offset = 12, .elements = 12}};
  layout.elements = 24;
  return layout;
}

TEST(Ownership, OneRankUpdatesEverythingInRunsOfEqualDecay) {
  const Updates updates = ranges_to_update(small_layout(), {.rank = 0, .size = 1});
  EXPECT_EQ(updates.state_elements, 24);
  EXPECT_EQ(updates.ranges,
            (std::vector<UpdateRange>{{.values = {0, 10}, .state_offset = 0, .weight_decay = true},
                                      {.values = {12, 2}, .state_offset = 12, .weight_decay = false},
                                      {.values = {14, 10}, .state_offset = 14, .weight_decay = true}}));
}

TEST(Ownership, SlicesOfAllRanksCoverEachElementOnce) {
  const ParameterLayout layout = small_layout();
  for (const int size : {1, 2, 3, 4}) {
    std::vector<int> covered(24, 0);
    for (int rank = 0; rank < size; ++rank) {
      const Updates updates = ranges_to_update(layout, {.rank = rank, .size = size});
      EXPECT_EQ(updates.state_elements, 24 / size);
      for (const UpdateRange& range : updates.ranges) {
        EXPECT_LE(range.state_offset + range.values.elements, updates.state_elements);
        for (int64_t i = 0; i < range.values.elements; ++i) ++covered[range.values.offset + i];
      }
    }
    for (int64_t i = 0; i < 24; ++i) EXPECT_EQ(covered[i], i == 10 || i == 11 ? 0 : 1) << "element " << i;
  }
}

int64_t elements_in_norm(const ParameterLayout& layout, const StagePlacement& placement) {
  int64_t elements = 0;
  for (const FlatRange& range : ranges_in_norm(layout, {.rank = 0, .size = 1}, placement))
    elements += range.elements;
  return elements;
}

TEST(Ownership, TheNormCountsReplicatedParametersOnTheFirstTensorRankOnly) {
  ParameterLayout layout = small_layout();
  layout.parameters[1].replicated_over_tensor = true;
  EXPECT_EQ(elements_in_norm(layout, {.chunks = {}, .tensor_rank = 0, .tensor_size = 2}), 22);
  EXPECT_EQ(elements_in_norm(layout, {.chunks = {}, .tensor_rank = 1, .tensor_size = 2}), 20);
}

TEST(Ownership, TheNormCountsTiedEmbeddingsOnTheFirstStageOnly) {
  ParameterLayout layout = small_layout();
  layout.parameters[0].tied_copy = true;
  EXPECT_EQ(elements_in_norm(layout, {.chunks = {{.has_embedding = true}}}), 22);
  EXPECT_EQ(elements_in_norm(layout, {.chunks = {{.has_head = true}}}), 12);
}

}  // namespace
}  // namespace caravan::trainer
