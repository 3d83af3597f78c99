#include "worker/trainer/model/owned_parts.h"

#include <gtest/gtest.h>

#include <map>

#include "checkpoint/format/box.h"
#include "checkpoint/hugging_face/tensors.h"
#include "worker/trainer/model/testing/odd_model.h"
#include "worker/trainer/optim/ownership.h"

namespace caravan::trainer {
namespace {

struct Cut {
  std::string name;
  int tensor = 1;
  int data = 1;
  std::vector<std::vector<planner::LayerGroup>> stages = {
      {{.layers = 3, .has_embedding = true, .has_head = true}}};
  bool tied = false;
};

void PrintTo(const Cut& cut, std::ostream* out) {
  *out << cut.name;
}

class OwnedParts : public testing::TestWithParam<Cut> {
 protected:
  // visit(placement, shard, layout) for each rank of the job.
  template <typename Visit>
  void for_each_place(Visit visit) const {
    const Cut& cut = GetParam();
    for (const auto& chunks : cut.stages)
      for (int tensor = 0; tensor < cut.tensor; ++tensor)
        for (int data = 0; data < cut.data; ++data) {
          const StagePlacement placement{.chunks = chunks, .tensor_rank = tensor, .tensor_size = cut.tensor};
          visit(placement, DataShard{.rank = data, .size = cut.data},
                lay_out_parameters(odd_model(12, 3, cut.tied), placement, cut.data));
        }
  }

  // visit(owned) for what each rank of the job answers for.
  template <typename Visit>
  void for_each_owned(Visit visit) const {
    for_each_place([&](const StagePlacement& placement, DataShard shard, const ParameterLayout& layout) {
      for (const OwnedPart& owned :
           owned_parts(layout, placement, slices_of(layout, shard), Selection::CountsHere))
        visit(owned);
    });
  }
};

TEST_P(OwnedParts, OfAllRanksHaveEachElementOfTheModelOnce) {
  std::map<std::string, std::vector<int>> seen;
  for (const auto& tensor : checkpoint::tensors_of(odd_model(12, 3, GetParam().tied)))
    seen[tensor.name].resize(static_cast<std::size_t>(tensor.shape[0] * columns_of(tensor.shape)));
  for_each_owned([&](const OwnedPart& owned) {
    for_each_run(owned, [&](const auto& run) {
      EXPECT_GE(run.values.offset, owned.values.offset);
      for (int64_t i = 0; i < run.values.elements; ++i)
        ++seen.at(owned.part.name).at(static_cast<std::size_t>(run.first_full + i));
    });
  });
  for (const auto& [name, times] : seen)
    EXPECT_TRUE(std::ranges::all_of(times, [](int count) { return count == 1; })) << name;
}

// As for_each_run says it.
TEST_P(OwnedParts, AreNumberedAsInTheWholeTensor) {
  for_each_place([](const StagePlacement& placement, DataShard shard, const ParameterLayout& layout) {
    std::map<int64_t, int64_t> numbers;  // by the offset of the value
    const auto owned_here = owned_parts(layout, placement, slices_of(layout, shard), Selection::Everything);
    for (const OwnedPart& owned : owned_here)
      for_each_run(owned, [&](const auto& run) {
        for (int64_t i = 0; i < run.values.elements; ++i) numbers[run.values.offset + i] = run.first_full + i;
      });
    std::size_t found = 0;
    for (const UpdateRange& range : ranges_by_tensor(layout, shard, 1).ranges) {
      for (int64_t i = 0; i < range.values.elements; ++i) {
        const auto number = numbers.find(range.values.offset + i);
        if (number == numbers.end()) continue;  // pads a row
        EXPECT_EQ(range.numbers[i], number->second);
        ++found;
      }
    }
    EXPECT_EQ(found, numbers.size());
  });
}

TEST_P(OwnedParts, HaveBlocksThatCoverEachTensorExactly) {
  std::map<std::string, std::vector<checkpoint::Box>> boxes;
  for_each_owned([&](const OwnedPart& owned) {
    const auto blocks = blocks_of(owned);
    EXPECT_LE(blocks.size(), 3u);
    for (const TensorBlock& block : blocks)
      boxes[owned.part.name].push_back({block.row, block.column, block.rows, block.columns});
  });
  for (const auto& tensor : checkpoint::tensors_of(odd_model(12, 3, GetParam().tied)))
    EXPECT_TRUE(cover_exactly(checkpoint::whole_tensor(tensor.shape), boxes[tensor.name])) << tensor.name;
}

const std::vector<std::vector<planner::LayerGroup>> kUneven = {
    {{.layers = 1, .has_embedding = true}}, {{.first_layer = 1, .layers = 2, .has_head = true}}};
const std::vector<std::vector<planner::LayerGroup>> kV = {
    {{.layers = 1, .has_embedding = true}, {.first_layer = 2, .layers = 1, .has_head = true}},
    {{.first_layer = 1, .layers = 1}}};

INSTANTIATE_TEST_SUITE_P(
    Layouts, OwnedParts,
    testing::Values(
        Cut{"OneRank"}, Cut{.name = "Tensor2", .tensor = 2}, Cut{.name = "Data2", .data = 2},
        Cut{.name = "Data5", .data = 5}, Cut{.name = "Uneven", .stages = kUneven},
        Cut{.name = "UnevenTied", .stages = kUneven, .tied = true},
        Cut{.name = "VTied", .stages = kV, .tied = true},
        Cut{.name = "Tensor2Data3UnevenTied", .tensor = 2, .data = 3, .stages = kUneven, .tied = true}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace caravan::trainer
