#include "planner/work/flops.h"

#include <gtest/gtest.h>

#include "planner/model/presets.h"
#include "planner/work/blocks.h"

namespace caravan::planner {
namespace {

ModelShape shape_of(const char* preset) {
  return *find_preset(preset);
}

TEST(Flops, CountSixPerMultipliedParameterAndTwelvePerAttendedPosition) {
  const ModelShape shape = shape_of("llama3-8b");
  const double products = 6.0 * (8'030'261'248 - 128'256LL * 4096);
  const double attention = 12.0 * 32 * 32 * 128 * 8192;
  const FlopsPerToken flops = flops_per_token(shape, 8192, /*recomputed=*/0);
  EXPECT_DOUBLE_EQ(flops.model, products + attention);
  EXPECT_DOUBLE_EQ(flops.model_causal, products + attention / 2);
  EXPECT_DOUBLE_EQ(flops.hardware, flops.model);
}

TEST(Flops, ATiedTableIsMultipliedOnce) {
  const ModelShape shape = shape_of("llama3.2-1b");
  EXPECT_DOUBLE_EQ(flops_per_token(shape, 0, 0).model, 6.0 * 1'235'814'400);
}

// All but the down projection, which no backward needs.
TEST(Flops, CheckpointingRunsTheForwardOfTheLayersAgainUpToWhatIsSaved) {
  const ModelShape shape = shape_of("llama2-7b");
  const StageShape stage{.model = shape,
                         .layers = shape.layers,
                         .recomputed_layers = shape.layers,
                         .micro_batch_size = 2,
                         .sequence_length = 4096};
  const double products = 2.0 * (4 * 4096 * 4096 + 2 * 4096 * 11008);
  const double attention = 4.0 * 32 * 128 * 4096;
  EXPECT_DOUBLE_EQ(recomputed_flops_per_token(stage), 32 * (products + attention));
  EXPECT_DOUBLE_EQ(flops_per_token(shape, 4096, 7).hardware, flops_per_token(shape, 4096, 0).model + 7);
}

// A table of a whole model does what the definition says, but for the norms, which are no products.
TEST(Flops, TheRowsDoThreeTimesTheForwardsProducts) {
  const ModelShape shape = shape_of("llama3-8b");
  const StageShape stage{.model = shape, .layers = shape.layers, .sequence_length = 64};
  double layer = 0;
  double head = 0;
  for (const Operations& rows : {layer_forward(stage), layer_backward(stage)})
    for (const Operation& row : rows) layer += row.product.flops();
  for (const Operation& row : head_forward(stage)) head += row.product.flops();
  const double norms = 6.0 * (2 * 32 + 1) * 4096;
  EXPECT_DOUBLE_EQ((32 * layer + head) / 64, flops_per_token(shape, 0, 0).model - norms);
}

TEST(Flops, UtilisationIsWorkOverPeak) {
  EXPECT_DOUBLE_EQ(
      utilisation(/*flops_per_token=*/50e9, /*tokens_per_second=*/64000, /*devices=*/8, /*peak_flops=*/1e15),
      0.4);
}

}  // namespace
}  // namespace caravan::planner
