#include "planner/plan.h"

#include <gtest/gtest.h>

#include <numeric>

#include "planner/engine_profile.h"

namespace caravan::planner {
namespace {

v1alpha1::JobSpec gpu_job(const std::string& preset, int devices, const std::string& product = "H100-80GB") {
  v1alpha1::JobSpec spec;
  spec.mutable_model()->set_preset(preset);
  spec.mutable_training()->set_steps(10);
  spec.mutable_training()->set_sequence_length(8192);
  spec.mutable_training()->set_global_batch_sequences(2048);
  spec.mutable_training()->set_precision(v1alpha1::Precision::BF16);
  spec.mutable_resources()->set_devices(devices);
  spec.mutable_resources()->mutable_device()->set_kind(v1alpha1::Device::GPU);
  spec.mutable_resources()->mutable_device()->set_product(product);
  return spec;
}

struct Cluster {
  std::string preset;
  int devices;
};

TEST(PlanJob, GivesTheLargeModelsALegalLayoutWithoutCheckpointing) {
  for (const auto& [preset, devices] : {Cluster{"llama3-8b", 8}, Cluster{"llama3-8b", 64},
                                        Cluster{"llama3-70b", 64}, Cluster{"llama3.1-405b", 8192}}) {
    const auto report = plan_job(gpu_job(preset, devices), {}, default_engine_profile());
    ASSERT_TRUE(report) << preset << ": " << report.error().message;
    const v1alpha1::Plan& plan = report->plan();
    EXPECT_EQ(plan.tensor() * plan.pipeline() * plan.data(), devices) << preset;
    EXPECT_LE(plan.tensor(), 8) << preset;
    EXPECT_EQ(plan.micro_batch_size(), 1) << preset;
    EXPECT_EQ(plan.activation_checkpointing(), v1alpha1::ActivationCheckpointing::Never) << preset;
    EXPECT_EQ(plan.sequence_parallel(), plan.tensor() > 1) << preset;
    EXPECT_LE(plan.peak_bytes(), plan.usable_bytes()) << preset;
    EXPECT_EQ(plan.peak_bytes_per_stage_size(), plan.pipeline()) << preset;
    EXPECT_EQ(plan.gradient_accumulation() * plan.data(), 2048) << preset;
    EXPECT_EQ(std::accumulate(plan.layers_per_stage().begin(), plan.layers_per_stage().end(), 0),
              preset == "llama3-8b"    ? 32
              : preset == "llama3-70b" ? 80
                                       : 126);
    EXPECT_GT(plan.mfu(), 0.2) << preset;
    EXPECT_LT(plan.mfu(), 0.8) << preset;
    EXPECT_EQ(report->candidates(0).verdict(), v1alpha1::Verdict::Chosen) << preset;
  }
}

TEST(PlanJob, NamesTheSmallestNumberOfDevicesWhenNothingFits) {
  const auto report = plan_job(gpu_job("llama3-70b", 8), {}, default_engine_profile());
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code, ExitCode::kDoesNotFit);
  EXPECT_NE(report.error().message.find("smallest number of devices that fits is 24"), std::string::npos)
      << report.error().message;
}

}  // namespace
}  // namespace caravan::planner
