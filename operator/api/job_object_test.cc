#include "operator/api/job_object.h"

#include <gmock/gmock.h>

#include "operator/testing/jobs.h"

namespace caravan::controller::testing {
namespace {

using ::testing::HasSubstr;

TEST(JobObject, AStatusThatCannotBeReadIsNoEmptyStatus) {
  kube::Json object = job_object();
  EXPECT_EQ(read_job(object).unreadable_status, "");
  object.as_object()["status"] = kube::JsonObject{{"attempt", "many"}};
  EXPECT_THAT(read_job(object).unreadable_status, HasSubstr("its status cannot be read"));
  object.as_object()["status"] = kube::JsonObject{{"fieldOfALaterVersion", 1}};
  EXPECT_EQ(read_job(object).unreadable_status, "");
}

Job job_with(const std::string& status) {
  return read_job(
      kube::parse_json(R"({"metadata": {"name": "tiny"}, "status": )" + status + "}", "job").value());
}

TEST(JobObject, FindsTheNodeOfARankByThePlan) {
  EXPECT_EQ(ranks_per_node(job_with("{}")), 0) << "not planned yet";
  EXPECT_EQ(ranks_per_node(job_with(R"({"plan": {"document": "{\"plan\": {\"devicesPerNode\": 8}}"}})")), 8);
}

}  // namespace
}  // namespace caravan::controller::testing
