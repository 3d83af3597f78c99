#include "cli/cluster/estimate_table.h"

#include <gmock/gmock.h>

namespace caravan::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr int kWide = 120;

v1alpha1::Estimate one_that_fits() {
  v1alpha1::Estimate estimate;
  estimate.set_devices(16);
  estimate.set_fits(true);
  v1alpha1::Plan& plan = *estimate.mutable_report()->mutable_plan();
  plan.set_device_product("A100-80GB");
  plan.set_tensor(2);
  plan.set_pipeline(1);
  plan.set_data(8);
  plan.set_step_seconds(12.3);
  plan.set_step_time_error(0.12);
  estimate.set_training_seconds(27000);
  estimate.set_device_hours(1234);
  estimate.set_end_time("2026-01-01T07:30:00.000000Z");
  estimate.set_cost("3085.00");
  return estimate;
}

v1alpha1::Estimate one_that_does_not() {
  v1alpha1::Estimate estimate;
  estimate.set_devices(1);
  estimate.set_reason("no layout fits; 2 devices would do");
  return estimate;
}

TEST(EstimateTable, ShowsWhatIsForeseenAndBelowItWhyNot) {
  v1alpha1::EstimateJobResponse response;
  *response.add_estimates() = one_that_does_not();
  *response.add_estimates() = one_that_fits();
  EXPECT_EQ(
      estimate_table(response, kWide),
      "  DEVICES  PRODUCT    FITS  LAYOUT                STEP  TRAINING  DEVICE-HOURS  END              "
      "     COST\n"
      "        1             no\n"
      "       16  A100-80GB  yes   TP2 PP1 DP8  12.3 s ± 12 %     7h30m         1,234  "
      "2026-01-01T07:30Z  3085.00\n"
      "\n"
      "1 device: no layout fits; 2 devices would do\n");
}

TEST(EstimateTable, LeavesOutWhatSpeaksToTheTerminal) {
  v1alpha1::EstimateJobResponse response;
  *response.add_estimates() = one_that_fits();
  *response.add_estimates() = one_that_does_not();
  response.mutable_estimates(0)->set_cost("1\x1b[8m\xC2\x9B");
  response.mutable_estimates(1)->set_reason("no\x1b]0;layout\x07\nfits");
  const std::string text = estimate_table(response, kWide);
  EXPECT_THAT(text, HasSubstr("2026-01-01T07:30Z  1[8m\n"));
  EXPECT_THAT(text, HasSubstr("\n1 device: no]0;layout fits\n"));
}

TEST(EstimateTable, LeavesOutWhatNobodyKnows) {
  v1alpha1::EstimateJobResponse response;
  v1alpha1::Estimate& estimate = *response.add_estimates();
  estimate = one_that_fits();
  estimate.clear_cost();
  estimate.clear_end_time();
  estimate.set_device_hours(0.25);
  const std::string text = estimate_table(response, kWide);
  EXPECT_THAT(text, Not(HasSubstr("COST")));
  EXPECT_THAT(text, Not(HasSubstr("END")));
  EXPECT_THAT(text, HasSubstr(" 0.2"));
}

}  // namespace
}  // namespace caravan::cli
