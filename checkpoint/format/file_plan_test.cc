#include "checkpoint/format/file_plan.h"

#include <gtest/gtest.h>

#include <iterator>

#include "checkpoint/hugging_face/weight_map.h"
#include "planner/model/presets.h"

namespace caravan::checkpoint {
namespace {

TEST(FilePlan, TheIndexOfTheLargestModelsMayBeRead) {
  planner::ModelShape model = planner::find_preset("llama3.1-405b").value();
  const auto bytes = [&] { return std::ssize(FilePlan(tensors_of(model), {}).weights_index()); };
  EXPECT_LT(bytes(), 128 << 10);
  model.layers = 4096;  // as many as the schema takes
  EXPECT_LT(bytes(), kLongestIndex);
}

}  // namespace
}  // namespace caravan::checkpoint
