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

}  // namespace
}  // namespace caravan::controller::testing
