#include "cli/page/run_record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/page/run_answers.h"
#include "cli/page/run_streams.h"
#include "common/testing/manual_clock.h"
#include "proto/caravan/v1alpha1/reasons.h"

namespace caravan::cli {
namespace {

using namespace v1alpha1;
using service::Code;
using ::testing::ElementsAre;

constexpr char kName[] = "namespaces/local/jobs/llama";

PreparedRun prepared() {
  PreparedRun run;
  run.job.set_job_name("llama");
  run.job.set_job_uid("local-1");
  run.job.set_nodes(2);
  run.job.mutable_spec()->mutable_training()->set_steps(10);
  run.job.mutable_spec()->mutable_checkpoint()->set_keep_last(2);
  run.job.mutable_plan()->set_data(4);
  run.job.mutable_plan()->set_devices(4);
  *run.report.mutable_plan() = run.job.plan();
  return run;
}

class RunRecordTest : public ::testing::Test {
 protected:
  void step(int attempt, int number) {
    JobReport made;
    made.mutable_step()->set_attempt(attempt);
    made.mutable_step()->set_step(number);
    made.mutable_step()->set_loss(1.0 / number);
    record_.reported(made);
  }
  void event(const std::string& message) {
    JobReport told;
    told.mutable_event()->set_reason(reasons::kRankFailed);
    told.mutable_event()->set_message(message);
    record_.reported(told);
  }
  void save(int step) {
    JobReport saved;
    saved.mutable_checkpoint()->mutable_report()->set_outcome(CheckpointReport::Written);
    saved.mutable_checkpoint()->mutable_report()->set_step(step);
    record_.reported(saved);
  }
  template <typename Response, typename Request>
  Response ask(const std::string& method, const Request& request) {
    const auto answered = answer(record_, method, request);
    EXPECT_TRUE(answered) << answered.error().message;
    return static_cast<const Response&>(**answered);
  }
  template <typename Request>
  RunStream open(const std::string& method, const Request& request) {
    return *open_stream(record_, "/nowhere", method, request);
  }
  ListEventsResponse list_events(int size, const std::string& token) {
    ListEventsRequest request;
    request.set_parent(kName);
    request.set_page_size(size);
    request.set_page_token(token);
    return ask<ListEventsResponse>("ListEvents", request);
  }
  WatchJobsRequest watch_all() {
    WatchJobsRequest request;
    request.set_parent("namespaces/local");
    return request;
  }
  std::vector<int> steps_of(const RunStream& stream) {
    std::vector<int> steps;
    StreamMetricsResponse message;
    while (stream(message) == Told::kMessage) {
      for (const auto& sample : message.samples()) steps.push_back(sample.step());
      cursor_ = message.cursor();
      message.Clear();
    }
    return steps;
  }
  StreamMetricsRequest metrics(bool follow) {
    StreamMetricsRequest request;
    request.set_name(kName);
    request.set_follow(follow);
    return request;
  }

  caravan::testing::ManualClock clock_;
  RunRecord record_{clock_, {}, prepared()};
  std::string cursor_;
};

TEST_F(RunRecordTest, NamesTheJobByItsNamespaceOrLocal) {
  EXPECT_EQ(record_.name(), kName);
  ObjectMeta metadata;
  metadata.set_namespace_("team");
  EXPECT_EQ(RunRecord(clock_, metadata, prepared()).name(), "namespaces/team/jobs/llama");
}

TEST_F(RunRecordTest, AnswersForTheOneJobOnly) {
  GetJobRequest request;
  request.set_name(kName);
  EXPECT_EQ(ask<Job>("GetJob", request).object().spec().training().steps(), 10);
  request.set_name("namespaces/local/jobs/other");
  EXPECT_EQ(answer(record_, "GetJob", request).error().code, Code::kNotFound);
  ListJobsRequest list;
  list.set_parent("namespaces/-");
  list.set_filter("name=llama");
  EXPECT_EQ(ask<ListJobsResponse>("ListJobs", list).jobs_size(), 1);
  list.set_filter("state=Running");
  EXPECT_EQ(answer(record_, "ListJobs", list).error().code, Code::kInvalidArgument);
}

TEST_F(RunRecordTest, ChangesNothing) {
  for (const char* method :
       {"CreateJob", "SuspendJob", "ResumeJob", "CancelJob", "DeleteJob", "CheckpointNow"})
    EXPECT_EQ(answer(record_, method, SuspendJobRequest()).error().code, Code::kUnimplemented) << method;
}

TEST_F(RunRecordTest, EstimatesTheJobItselfWithoutPlanning) {
  EstimateJobRequest request;
  request.set_parent("namespaces/local");
  *request.mutable_job()->mutable_spec() = record_.job().object().spec();
  EXPECT_EQ(ask<EstimateJobResponse>("EstimateJob", request).estimates(0).report().plan().data(), 4);
  request.mutable_job()->mutable_spec()->mutable_training()->set_steps(11);
  EXPECT_EQ(answer(record_, "EstimateJob", request).error().code, Code::kUnimplemented);
}

TEST_F(RunRecordTest, ShowsTheNextPlanOfAJobThatWasPlannedAgain) {
  PlanReport next;
  next.mutable_plan()->set_tensor(2);
  next.mutable_plan()->set_reason("less memory");
  record_.planned(next);
  EXPECT_EQ(record_.job().object().status().plan().tensor(), 2);
  EXPECT_EQ(record_.plan().plan().tensor(), 2);
  EXPECT_EQ(list_events(10, "").events(1).message(), "less memory");
}

TEST_F(RunRecordTest, GivesEventsInPages) {
  for (const char* message : {"a", "b", "c"}) event(message);
  const ListEventsResponse first = list_events(3, "");
  ASSERT_EQ(first.events_size(), 3);
  EXPECT_EQ(first.events(1).message(), "a") << "behind that of the plan";
  const ListEventsResponse second = list_events(3, first.next_page_token());
  ASSERT_EQ(second.events_size(), 1);
  EXPECT_EQ(second.events(0).message(), "c");
  EXPECT_EQ(second.next_page_token(), "");
}

TEST_F(RunRecordTest, TellsOfTheCheckpointsThatTheFolderKeeps) {
  for (const int step : {5, 10, 15}) save(step);
  ListCheckpointsRequest request;
  request.set_parent(kName);
  const auto told = ask<ListCheckpointsResponse>("ListCheckpoints", request);
  ASSERT_EQ(told.checkpoints_size(), 2) << "spec.checkpoint.keepLast";
  EXPECT_EQ(told.checkpoints(0).step(), 15);
  EXPECT_EQ(told.checkpoints(1).step(), 10);
}

TEST_F(RunRecordTest, KeepsTheLatestEvents) {
  for (std::size_t i = 0; i <= RunRecord::kMostEvents; ++i) event(std::to_string(i));
  EXPECT_EQ(list_events(1, "").events(0).message(), "1");
}

TEST_F(RunRecordTest, AWatchTellsOfTheJobAsItIsByThenAndOfTheEnd) {
  const RunStream watch = open("WatchJobs", watch_all());
  WatchJobsResponse message;
  EXPECT_EQ(watch(message), Told::kMessage);
  EXPECT_EQ(message.kind(), WatchJobsResponse::Changed);
  EXPECT_EQ(watch(message), Told::kMessage);
  EXPECT_EQ(message.kind(), WatchJobsResponse::Complete);
  EXPECT_EQ(watch(message), Told::kNothingNow);
  for (int number = 1; number <= 1000; ++number) step(1, number);
  EXPECT_EQ(watch(message), Told::kMessage);
  EXPECT_EQ(message.job().object().status().progress().step(), 1000);
  EXPECT_EQ(watch(message), Told::kNothingNow) << "who is slow is told once, and nothing waits for him";
  JobResult result;
  result.set_result(reasons::kComplete);
  record_.end(result);
  EXPECT_EQ(watch(message), Told::kMessage);
  EXPECT_EQ(message.job().object().status().state(), "Complete");
  EXPECT_EQ(watch(message), Told::kAll);
}

TEST_F(RunRecordTest, StepsAreFollowedAndGoneOnWith) {
  step(1, 1);
  step(1, 2);
  const RunStream follower = open("StreamMetrics", metrics(true));
  EXPECT_THAT(steps_of(follower), ElementsAre(1, 2));
  StreamMetricsRequest behind = metrics(false);
  behind.set_cursor(cursor_);
  step(2, 2);
  EXPECT_THAT(steps_of(follower), ElementsAre(2)) << "of another attempt";
  EXPECT_THAT(steps_of(open("StreamMetrics", behind)), ElementsAre(2));
  StreamMetricsResponse message;
  EXPECT_EQ(open("StreamMetrics", behind)(message), Told::kMessage);
  EXPECT_EQ(follower(message), Told::kNothingNow);
  record_.end({});
  EXPECT_EQ(follower(message), Told::kAll);
  behind.set_cursor("garbage");
  EXPECT_EQ(open_stream(record_, "", "StreamMetrics", behind).error().code, Code::kInvalidArgument);
}

TEST_F(RunRecordTest, LogsAreOfRanksAndNodesThatThereAre) {
  StreamLogsRequest request;
  request.set_name(kName);
  request.set_node(1);
  EXPECT_TRUE(open_stream(record_, "", "StreamLogs", request));
  request.set_node(2);
  EXPECT_EQ(open_stream(record_, "", "StreamLogs", request).error().code, Code::kInvalidArgument);
  request.set_node(0);
  request.set_rank(3);
  EXPECT_TRUE(open_stream(record_, "", "StreamLogs", request));
  for (const int rank : {-1, 4}) {
    request.set_rank(rank);
    EXPECT_EQ(open_stream(record_, "", "StreamLogs", request).error().code, Code::kInvalidArgument) << rank;
  }
  request.set_rank(3);
  request.set_cursor("garbage");
  EXPECT_EQ(open_stream(record_, "", "StreamLogs", request).error().fields[0].subject, "cursor");
  request.clear_cursor();
  request.set_since_seconds(5);
  EXPECT_EQ(open_stream(record_, "", "StreamLogs", request).error().fields[0].subject, "since_seconds");
}

}  // namespace
}  // namespace caravan::cli
