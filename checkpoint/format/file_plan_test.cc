#include "checkpoint/format/file_plan.h"

#include <gtest/gtest.h>

#include <iterator>

#include "checkpoint/format/names.h"
#include "checkpoint/hugging_face/weight_map.h"
#include "common/testing/turn.h"
#include "planner/model/presets.h"

namespace caravan::checkpoint {
namespace {

TEST(FilePlan, TheIndexOfTheLargestModelsMayBeRead) {
  CARAVAN_BY_TURNS();
  planner::ModelShape model = planner::find_preset("llama3.1-405b").value();
  const auto bytes = [&] { return std::ssize(FilePlan(tensors_of(model), {}).weights_index()); };
  EXPECT_LT(bytes(), 128 << 10);
  model.layers = 4096;  // as many as the schema takes
  EXPECT_LT(bytes(), kLongestIndex);
}

// Other programs read every safetensors file of a folder without an index.
TEST(FilePlan, TheIndexNamesTheFileOfWeightsAlsoWhereThatIsTheOnlyOne) {
  planner::ModelShape model = planner::find_preset("llama3.2-1b").value();
  model.layers = 1;
  const FilePlan plan(tensors_of(model), {});
  ASSERT_EQ(plan.files()[0].name, kWeightsFile);
  WeightMap wanted;
  for (const NamedShape& tensor : plan.tensors()) wanted.emplace(tensor.name, kWeightsFile);
  EXPECT_EQ(parse_weight_map(plan.weights_index()).value(), wanted);
}

}  // namespace
}  // namespace caravan::checkpoint
