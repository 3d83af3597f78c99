#include "cli/cluster/service/watched_job.h"

#include <gtest/gtest.h>

namespace caravan::cli {
namespace {

using v1alpha1::WatchJobsResponse;
using Word = WatchedJob::Word;

WatchJobsResponse message(WatchJobsResponse::Kind kind, const std::string& uid = "",
                          const std::string& state = "") {
  WatchJobsResponse told;
  told.set_kind(kind);
  told.mutable_job()->set_uid(uid);
  told.mutable_job()->mutable_object()->mutable_status()->set_state(state);
  return told;
}

class WatchedJobTest : public ::testing::Test {
 protected:
  const Cluster::Seen until_complete_ = [](const kube::Json& job) {
    return kube::text_at(job, {"status", "state"}) != "Complete";
  };
  WatchedJob job_{"u", until_complete_};
};

TEST_F(WatchedJobTest, IsSeenUntilSomebodyHasSeenEnough) {
  EXPECT_EQ(job_.take(message(WatchJobsResponse::Changed, "u", "Running")), Word::kMore);
  EXPECT_EQ(job_.take(message(WatchJobsResponse::Complete)), Word::kMore);
  EXPECT_EQ(job_.take(message(WatchJobsResponse::Heartbeat)), Word::kMore);
  EXPECT_EQ(job_.take(message(WatchJobsResponse::Changed, "u", "Complete")), Word::kEnough);
}

TEST_F(WatchedJobTest, IsDeletedWhenItGoesAndWhenAnotherHasItsName) {
  EXPECT_EQ(job_.take(message(WatchJobsResponse::Gone, "u")), Word::kDeleted);
  EXPECT_EQ(job_.take(message(WatchJobsResponse::Changed, "another", "Complete")), Word::kDeleted);
  EXPECT_EQ(job_.take(message(WatchJobsResponse::Gone, "an earlier one")), Word::kMore);
}

TEST_F(WatchedJobTest, IsMissingWhereAllAreToldOfAndNotIt) {
  EXPECT_EQ(job_.take(message(WatchJobsResponse::Complete)), Word::kMissing);
  EXPECT_EQ(job_.take(message(WatchJobsResponse::Changed, "u", "Running")), Word::kMore);
  job_.begin_anew();
  EXPECT_EQ(job_.take(message(WatchJobsResponse::Complete)), Word::kMissing);
}

}  // namespace
}  // namespace caravan::cli
