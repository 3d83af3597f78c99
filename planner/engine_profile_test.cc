#include "planner/engine_profile.h"

#include <gtest/gtest.h>

#include "common/json.h"

namespace caravan::planner {
namespace {

TEST(EngineProfile, TheDefaultIsThatOfOurTrainer) {
  const EngineProfile profile = default_engine_profile();
  EXPECT_EQ(profile.name, "caravan");
  EXPECT_EQ(profile.gradient_bytes, 4);
  EXPECT_EQ(profile.master_bytes, 4);
  EXPECT_EQ(profile.moment_bytes, 8);
  EXPECT_EQ(profile.gpu_context_bytes, 900LL << 20);
  EXPECT_GT(profile.gemm_efficiency, 0.5);
  EXPECT_GT(profile.memory_margin, 0);
}

TEST(EngineProfile, NamesTheFieldThatCannotBeRead) {
  v1alpha1::EngineProfile message;
  message.set_gpu_context("1Gi");
  message.set_gpu_communication_group("many");
  const auto profile = read_engine_profile(message);
  ASSERT_FALSE(profile);
  EXPECT_EQ(profile.error().code, ExitCode::kBadInput);
  EXPECT_EQ(profile.error().message.rfind("gpuCommunicationGroup: ", 0), 0U) << profile.error().message;
}

TEST(EngineProfile, OurTrainerHasATableInsteadOfCoefficients) {
  const EngineProfile profile = default_engine_profile();
  EXPECT_FALSE(profile.activations);
  EXPECT_EQ(profile.max_virtual_stages, 8);
  EXPECT_EQ(profile.max_zero_stage, 1);
  EXPECT_EQ(profile.stage_split, StageSplit::Balanced);
}

TEST(EngineProfile, CoefficientsComeTogether) {
  auto message = from_json<v1alpha1::EngineProfile>(R"({"name": "half", "layerHiddenBytes": "12"})").value();
  const auto profile = read_engine_profile(message);
  ASSERT_FALSE(profile);
  EXPECT_EQ(profile.error().message.rfind("layerReplicatedBytes: ", 0), 0U) << profile.error().message;
}

}  // namespace
}  // namespace caravan::planner
