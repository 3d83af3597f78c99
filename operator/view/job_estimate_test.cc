// What an estimate says beside the planner's own report.
#include "operator/view/job_estimate.h"

#include <gtest/gtest.h>

#include <string>

#include "common/json.h"
#include "operator/testing/jobs.h"
#include "planner/engine_profile.h"

namespace caravan::controller::testing {
namespace {

v1alpha1::JobSpec spec_on(int devices) {
  v1alpha1::JobSpec spec = gpu_job(R"({"product": "A100-80GB"})").spec;
  spec.mutable_resources()->set_devices(devices);
  spec.mutable_training()->set_steps(1000);
  return spec;
}

TEST(Estimate, IsThePlannersReportWithItsPriceAndItsEnd) {
  const auto start = to_time("2026-01-01T00:00:00Z").value();
  const auto told = estimate(spec_on(16), {}, {.device_hour_price = 2, .now = start});
  ASSERT_TRUE(told.fits()) << told.reason();
  const auto plan = planner::answer_job(spec_on(16), {}, planner::default_engine_profile());
  EXPECT_EQ(to_json(told.report(), JsonLayout::kIndented), to_json(plan.report, JsonLayout::kIndented));
  EXPECT_EQ(told.devices(), 16);
  ASSERT_TRUE(told.has_device_hours());
  EXPECT_NEAR(std::stod(told.cost()), 2 * told.device_hours(), 0.01);
  EXPECT_NEAR(told.training_seconds() / 3600 * 16, told.device_hours(), 0.01 * told.device_hours());
  const auto end = to_time(told.end_time());
  ASSERT_TRUE(end) << told.end_time();
  EXPECT_NEAR(std::chrono::duration<double>(*end - start).count(), told.training_seconds(), 0.01);
}

TEST(Estimate, SaysWhyAJobDoesNotFit) {
  const auto told = estimate(spec_on(1), {}, {.device_hour_price = 2});
  EXPECT_FALSE(told.fits());
  EXPECT_FALSE(told.reason().empty());
  EXPECT_FALSE(told.has_device_hours());
  EXPECT_EQ(told.cost(), "");
}

TEST(Estimate, TakesPricesFromZero) {
  EXPECT_EQ(parse_device_hour_price("").value(), 0);
  EXPECT_EQ(parse_device_hour_price("2.50").value(), 2.5);
  EXPECT_FALSE(parse_device_hour_price("-1"));
  EXPECT_FALSE(parse_device_hour_price("two"));
  EXPECT_FALSE(parse_device_hour_price("1e300"));
}

}  // namespace
}  // namespace caravan::controller::testing
