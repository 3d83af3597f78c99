// What an estimate says beside the planner's own report.
#include "service/methods/estimate_methods.h"

#include <gtest/gtest.h>

#include <string>

#include "common/json.h"
#include "planner/engine_profile.h"
#include "planner/plan.h"
#include "service/jobs/job_message.h"

namespace caravan::service {
namespace {

v1alpha1::LlamaTrainingJob job(int devices) {
  v1alpha1::LlamaTrainingJob given;
  given.mutable_metadata()->set_name("llama");
  v1alpha1::JobSpec& spec = *given.mutable_spec();
  spec.mutable_model()->set_preset("llama3-8b");
  spec.mutable_data()->set_path("train.bin");
  spec.mutable_training()->set_steps(1000);
  spec.mutable_training()->set_sequence_length(4096);
  spec.mutable_training()->set_global_batch_sequences(64);
  spec.mutable_resources()->set_devices(devices);
  spec.mutable_resources()->mutable_device()->set_product("A100-80GB");
  return completed_job(given).value();
}

TEST(Estimate, IsThePlannersReportWithItsPrice) {
  const auto told = estimate(job(16), {.device_hour_price = 2});
  ASSERT_TRUE(told.fits()) << told.reason();
  const auto plan = planner::answer_job(job(16).spec(), {}, planner::default_engine_profile());
  EXPECT_EQ(to_json(told.report(), JsonLayout::kIndented), to_json(plan.report, JsonLayout::kIndented));
  EXPECT_EQ(told.devices(), 16);
  ASSERT_TRUE(told.has_device_hours());
  EXPECT_NEAR(std::stod(told.cost()), 2 * told.device_hours(), 0.01);
  EXPECT_NEAR(told.training_seconds() / 3600 * 16, told.device_hours(), 0.01 * told.device_hours());
}

TEST(Estimate, SaysWhyAJobDoesNotFit) {
  const auto told = estimate(job(1), {});
  EXPECT_FALSE(told.fits());
  EXPECT_FALSE(told.reason().empty());
  EXPECT_FALSE(told.has_device_hours());
}

}  // namespace
}  // namespace caravan::service
