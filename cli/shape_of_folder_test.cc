#include "cli/shape_of_folder.h"

#include <gmock/gmock.h>

#include "checkpoint/hugging_face/config.h"
#include "checkpoint/testing/tiny_checkpoint.h"
#include "common/testing/temporary_folder.h"
#include "planner/plan.h"

namespace caravan::cli {
namespace {

using checkpoint::testing::tiny_model;
using testing::HasSubstr;

class ShapeOfFolder : public testing::Test {
 protected:
  void SetUp() override {
    const auto volume = checkpoint::make_volume(files_.path("all")).value();
    ASSERT_TRUE(checkpoint::testing::write_tiny(*volume, 1));
    model_.mutable_init_from()->set_path(files_.path("all/step-000001"));
  }

  const test::TemporaryFolder files_;
  v1alpha1::Model model_;
};

TEST_F(ShapeOfFolder, IsTheModelsWhereInitFromStandsAlone) {
  const Status taken = take_shape_of_folder(model_);
  ASSERT_TRUE(taken) << taken.error().message;
  const auto shape = planner::resolve_model_shape(model_);
  ASSERT_TRUE(shape) << shape.error().message;
  EXPECT_EQ(checkpoint::difference(*shape, tiny_model()), "");
  EXPECT_TRUE(take_shape_of_folder(model_)) << "a second time it agrees with itself";
}

TEST_F(ShapeOfFolder, IsReadWithEveryFieldOfLlama31) {
  planner::ModelShape other = tiny_model();
  other.tied_embeddings = true;
  other.rope_theta = 123456.5;
  other.norm_eps = 1e-6;
  other.rope_scaling = planner::RopeScaling{.factor = 32, .original_positions = 4096};
  const std::string config = checkpoint::config_json(other, checkpoint::ElementType::F32, 16);
  files_.write("all/step-000001/config.json", config);
  ASSERT_TRUE(take_shape_of_folder(model_));
  EXPECT_EQ(checkpoint::difference(planner::resolve_model_shape(model_).value(), other), "");
}

TEST_F(ShapeOfFolder, MustBeTheOneThatTheJobGives) {
  model_.set_preset("llama-tiny");
  const Status taken = take_shape_of_folder(model_);
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().code, ExitCode::kBadInput);
  EXPECT_THAT(taken.error().message,
              HasSubstr("spec.model.initFrom.path: " + files_.path("all/step-000001")));
  EXPECT_THAT(taken.error().message, HasSubstr("hiddenSize is 8 in config.json and "));
  EXPECT_THAT(taken.error().message, HasSubstr("leave preset out, and the folder gives the shape"));
}

TEST_F(ShapeOfFolder, IsNotLookedForInAClaim) {
  model_.mutable_init_from()->set_claim_name("weights");
  model_.mutable_init_from()->set_path("llama");
  EXPECT_TRUE(take_shape_of_folder(model_));
  const auto shape = planner::resolve_model_shape(model_);
  ASSERT_FALSE(shape);
  EXPECT_THAT(shape.error().message, HasSubstr("set preset or architecture too"));
}

TEST_F(ShapeOfFolder, NamesTheFieldWhenThereIsNoFolder) {
  model_.mutable_init_from()->set_path(files_.path("nothing"));
  const Status taken = take_shape_of_folder(model_);
  ASSERT_FALSE(taken);
  EXPECT_THAT(taken.error().message, HasSubstr("spec.model.initFrom.path: " + files_.path("nothing")));
  v1alpha1::Model random;
  random.set_preset("llama-tiny");
  EXPECT_TRUE(take_shape_of_folder(random)) << "without initFrom nothing is read";
}

}  // namespace
}  // namespace caravan::cli
