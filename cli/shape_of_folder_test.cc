#include "cli/shape_of_folder.h"

#include <gmock/gmock.h>

#include <filesystem>

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

  // The folder is another program's then.
  void write_config(const std::string& config) {
    std::filesystem::remove(files_.path("all/step-000001/manifest.json"));
    files_.write("all/step-000001/config.json", config);
  }

  const test::TemporaryFolder files_;
  v1alpha1::JobSpec spec_;
  v1alpha1::Model& model_ = *spec_.mutable_model();
};

TEST_F(ShapeOfFolder, IsTheModelsWhereInitFromStandsAlone) {
  const Status taken = take_shape_of_folder(spec_);
  ASSERT_TRUE(taken) << taken.error().message;
  const auto shape = planner::resolve_model_shape(model_);
  ASSERT_TRUE(shape) << shape.error().message;
  EXPECT_EQ(checkpoint::difference(*shape, tiny_model()), "");
  EXPECT_TRUE(take_shape_of_folder(spec_)) << "a second time it agrees with itself";
}

TEST_F(ShapeOfFolder, IsReadWithEveryFieldOfLlama31) {
  planner::ModelShape other = tiny_model();
  other.tied_embeddings = true;
  other.rope_theta = 123456.5;
  other.norm_eps = 1e-6;
  other.rope_scaling = planner::RopeScaling{.factor = 32, .original_positions = 4096};
  const std::string config = checkpoint::config_json(other, checkpoint::ElementType::F32, 16);
  write_config(config);
  ASSERT_TRUE(take_shape_of_folder(spec_));
  EXPECT_EQ(checkpoint::difference(planner::resolve_model_shape(model_).value(), other), "");
}

TEST_F(ShapeOfFolder, MustBeTheOneThatTheJobGives) {
  model_.set_preset("llama-tiny");
  const Status taken = take_shape_of_folder(spec_);
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().code, ExitCode::kBadInput);
  EXPECT_THAT(taken.error().message,
              HasSubstr("spec.model.initFrom.path: " + files_.path("all/step-000001")));
  EXPECT_THAT(taken.error().message, HasSubstr("hiddenSize is 8 in config.json and "));
  EXPECT_THAT(taken.error().message, HasSubstr("leave preset out, and the folder gives the shape"));
}

TEST_F(ShapeOfFolder, NamesTheVocabularyToo) {
  model_.set_preset("llama-tiny");
  model_.set_vocab_size(300);
  const Status taken = take_shape_of_folder(spec_);
  ASSERT_FALSE(taken);
  EXPECT_THAT(taken.error().message, HasSubstr("leave preset and vocabSize out, and the folder gives"));
}

TEST_F(ShapeOfFolder, KeepsTheBoundsOfTheSchemaAndIsThatOfTheFiles) {
  const auto refusal_of = [&](const auto& change) {
    planner::ModelShape other = tiny_model();
    change(other);
    write_config(checkpoint::config_json(other, checkpoint::ElementType::F32, 16));
    const Status taken = take_shape_of_folder(spec_);
    EXPECT_FALSE(taken);
    return taken ? "" : taken.error().message;
  };
  EXPECT_THAT(refusal_of([](auto& shape) { shape.layers = 2147483647; }),
              HasSubstr("step-000001: config.json: layers: expected a whole number from 1 to 4096"));
  EXPECT_THAT(refusal_of([](auto& shape) { shape.vocab = 2147483647; }),
              HasSubstr("vocabSize: expected a whole number from 2 to 2097152"));
  EXPECT_THAT(refusal_of([](auto& shape) { shape.norm_eps = 2; }),
              HasSubstr("normEps: expected a decimal number from 1e-37 to 1"));
  EXPECT_THAT(refusal_of([](auto& shape) { shape.layers = 3; }),
              HasSubstr("has no tensor 'model.layers.2.input_layernorm.weight'"));
  EXPECT_THAT(refusal_of([](auto& shape) { shape.ffn = 16; }),
              HasSubstr("shape is [12, 8], config.json makes it [16, 8]"));
}

TEST_F(ShapeOfFolder, IsThatOfTheCheckpointThatTheJobGoesOnFrom) {
  const auto volume = checkpoint::make_volume(files_.path("own")).value();
  ASSERT_TRUE(checkpoint::testing::write_tiny(*volume, 4));
  ASSERT_TRUE(checkpoint::testing::write_tiny(*volume, 5));
  files_.write("own/step-000005/manifest.json", "damaged");
  model_.mutable_init_from()->set_path(files_.path("nothing"));
  EXPECT_FALSE(take_shape_of_folder(spec_));
  spec_.mutable_checkpoint()->set_path(files_.path("own"));
  const Status taken = take_shape_of_folder(spec_);
  ASSERT_TRUE(taken) << taken.error().message;
  EXPECT_EQ(checkpoint::difference(planner::resolve_model_shape(model_).value(), tiny_model()), "");
  EXPECT_TRUE(take_shape_of_folder(spec_)) << "also with a shape";

  model_.clear_architecture();
  files_.write("own/step-000004/manifest.json", "damaged too");
  const Status none = take_shape_of_folder(spec_);
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().message, HasSubstr("spec.checkpoint.path: " + files_.path("own/step-000005")));
}

TEST_F(ShapeOfFolder, IsNotLookedForInAClaim) {
  model_.mutable_init_from()->set_claim_name("weights");
  model_.mutable_init_from()->set_path("llama");
  EXPECT_TRUE(take_shape_of_folder(spec_));
  const auto shape = planner::resolve_model_shape(model_);
  ASSERT_FALSE(shape);
  EXPECT_THAT(shape.error().message, HasSubstr("set preset or architecture too"));
}

TEST_F(ShapeOfFolder, NamesTheFieldWhenThereIsNoFolder) {
  model_.mutable_init_from()->set_path(files_.path("nothing"));
  const Status taken = take_shape_of_folder(spec_);
  ASSERT_FALSE(taken);
  EXPECT_THAT(taken.error().message, HasSubstr("spec.model.initFrom.path: " + files_.path("nothing")));
  v1alpha1::JobSpec random;
  random.mutable_model()->set_preset("llama-tiny");
  EXPECT_TRUE(take_shape_of_folder(random)) << "without initFrom nothing is read";
}

}  // namespace
}  // namespace caravan::cli
