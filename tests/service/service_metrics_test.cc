// Metrics through the whole way: the service's program, a real API server and its rights, and the operator's
// server of steps, which tells what the test reports.
#include <fmt/format.h>

#include "http/testing/tls_client.h"
#include "tests/service/operated_service.h"

namespace caravan::service::testing {
namespace {

using grpc::StatusCode;
using kube::JsonArray;
using kube::JsonObject;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using namespace v1alpha1;

class ServiceMetricsTest : public OperatedService {
 protected:
  Person make_viewer() {
    make_account("viewer", {"get", "list", "watch"});
    Person viewer = person(full_token("viewer"));
    create_job("train");
    job_ = await_job(viewer, "train");
    return viewer;
  }

  void report(int attempt, int step) {
    history_->add(job_.uid(), {.at = {attempt, step}, .loss = 1.5f});
    history_->tell(job_.uid());
  }

  void end_job() {
    const JsonObject failed{{"type", "Failed"},
                            {"status", "True"},
                            {"reason", "RankFailed"},
                            {"lastTransitionTime", "2026-01-01T00:00:00Z"}};
    const auto marked = server_.client().merge_status(
        {}, server_.jobs(), "train",
        JsonObject{{"status", JsonObject{{"state", "Failed"}, {"conditions", JsonArray{failed}}}}});
    if (!marked) ADD_FAILURE() << marked.error().message;
  }

  struct Stream {
    std::unique_ptr<grpc::ClientContext> context = {};
    std::unique_ptr<grpc::ClientReader<StreamMetricsResponse>> reader = {};
  };
  Stream open(const Person& person, bool follow) {
    StreamMetricsRequest request;
    request.set_name(job_name("train"));
    request.set_follow(follow);
    request.set_cursor(cursor_);
    Stream stream{.context = person.call()};
    stream.reader = person.stub->StreamMetrics(stream.context.get(), request);
    return stream;
  }
  // Until so many have come, or the stream ends.
  std::vector<int> steps(Stream& stream, std::size_t most = 1'000'000) {
    std::vector<int> steps;
    StreamMetricsResponse message;
    while (steps.size() < most && stream.reader->Read(&message)) {
      for (const MetricsSample& sample : message.samples()) steps.push_back(sample.step());
      cursor_ = message.cursor();
    }
    return steps;
  }

  std::pair<grpc::Status, Capacity> capacity(const Person& person) const {
    GetCapacityRequest request;
    request.set_parent(parent());
    Capacity told;
    grpc::Status status = person.stub->GetCapacity(person.call().get(), request, &told);
    return {std::move(status), std::move(told)};
  }

  Job job_;
  std::string cursor_;
};

TEST_F(ServiceMetricsTest, AreFollowedToTheEndOfTheJobAndGoneOnWith) {
  start_with_operator();
  const Person viewer = make_viewer();
  for (const int step : {1, 2, 3}) report(1, step);
  Stream now = open(viewer, false);
  EXPECT_THAT(steps(now), ElementsAre(1, 2, 3));
  EXPECT_TRUE(now.reader->Finish().ok());
  Stream later = open(viewer, true);
  report(1, 4);
  EXPECT_THAT(steps(later, 1), ElementsAre(4)) << "behind what was read";
  report(2, 4);
  end_job();
  EXPECT_THAT(steps(later), ElementsAre(4)) << "which another attempt trains again";
  const grpc::Status ended = later.reader->Finish();
  EXPECT_TRUE(ended.ok()) << ended.error_message();
}

TEST_F(ServiceMetricsTest, AreEventsOverHttpThatSayWhenAllIsTold) {
  start_with_operator({"--http-listen", "127.0.0.1:0"});
  make_viewer();
  report(1, 1);
  http::testing::TlsClient client(http_address_, {.authority_pem = authority_.certificate_pem});
  client.send(fmt::format(
      "GET /v1alpha1/{}/metrics HTTP/1.1\r\nAuthorization: Bearer {}\r\nConnection: close\r\n\r\n",
      job_name("train"), full_token("viewer")));
  EXPECT_THAT(client.receive(), ::testing::AllOf(HasSubstr("text/event-stream"), HasSubstr(R"("step":1)"),
                                                 HasSubstr("id: "), HasSubstr("event: end\ndata: {}\n\n")));
}

TEST_F(ServiceMetricsTest, GoOnWhenAnotherOperatorLeads) {
  start_with_operator();
  const Person viewer = make_viewer();
  report(1, 1);
  Stream stream = open(viewer, true);
  EXPECT_THAT(steps(stream, 1), ElementsAre(1));
  lead();
  for (const int step : {1, 2}) report(1, step);
  EXPECT_THAT(steps(stream, 1), ElementsAre(2)) << "what was told before is not told again";
  stream.context->TryCancel();
}

TEST_F(ServiceMetricsTest, AreOfWhoeverMayGetTheJob) {
  start_with_operator();
  const Person viewer = make_viewer();
  make_account("stranger", {});
  Stream stream = open(person(full_token("stranger")), true);
  EXPECT_THAT(steps(stream), ElementsAre());
  EXPECT_EQ(stream.reader->Finish().error_code(), StatusCode::PERMISSION_DENIED);
  Stream viewed = open(viewer, true);
  report(1, 1);
  EXPECT_THAT(steps(viewed, 1), ElementsAre(1));
  remove_rights("viewer");
  steps(viewed);
  EXPECT_EQ(viewed.reader->Finish().error_code(), StatusCode::PERMISSION_DENIED) << "no longer";
}

TEST_F(ServiceMetricsTest, OfAnotherJobACursorIsNone) {
  start_with_operator();
  const Person viewer = make_viewer();
  report(1, 1);
  Stream first = open(viewer, false);
  EXPECT_THAT(steps(first), ElementsAre(1));
  ASSERT_TRUE(server_.client().remove({}, server_.jobs(), "train", {}).has_value());
  create_job("train");
  const std::string former = job_.uid();
  while (await_job(viewer, "train").uid() == former)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  Stream second = open(viewer, false);
  EXPECT_THAT(steps(second), ElementsAre());
  const grpc::Status refused = second.reader->Finish();
  EXPECT_EQ(refused.error_code(), StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(refused.error_message(), HasSubstr("cursor"));
}

TEST_F(ServiceMetricsTest, AServiceWithoutAnOperatorSaysSo) {
  start();
  const Person viewer = make_viewer();
  Stream stream = open(viewer, false);
  EXPECT_THAT(steps(stream), ElementsAre());
  const grpc::Status refused = stream.reader->Finish();
  EXPECT_EQ(refused.error_code(), StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(refused.error_message(), HasSubstr("--operator"));
}

TEST_F(ServiceMetricsTest, WhatIsFreeIsToldToWhoeverMayCreateJobs) {
  nodes_.upsert(
      kube::parse_json(R"({"metadata": {"name": "a", "uid": "1", "resourceVersion": "1"}, "status": {
      "allocatable": {"nvidia.com/gpu": "8"}, "conditions": [{"type": "Ready", "status": "True"}]}})",
                       "node")
          .value());
  start_with_operator();
  make_account("editor", {"create"});
  make_account("viewer", {"get", "list", "watch"});
  const auto [status, told] = capacity(person(full_token("editor")));
  ASSERT_TRUE(status.ok()) << status.error_message();
  ASSERT_EQ(told.pools_size(), 1);
  EXPECT_EQ(told.pools(0).free_devices(), 8);
  EXPECT_EQ(told.pools_unknown(), "");
  EXPECT_EQ(told.quotas_size(), 0);
  EXPECT_THAT(told.quotas_unknown(), HasSubstr("resourcequotas")) << "which this one may not list";
  EXPECT_EQ(capacity(person(full_token("viewer"))).first.error_code(), StatusCode::PERMISSION_DENIED);
}

TEST_F(ServiceMetricsTest, WhatIsFreeIsUnknownWhereTheOperatorReadsNoNodes) {
  reads_nodes_ = false;
  start_with_operator();
  make_account("editor", {"create"});
  const auto [status, told] = capacity(person(full_token("editor")));
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_THAT(told.pools_unknown(), HasSubstr("--read-nodes"));
}

}  // namespace
}  // namespace caravan::service::testing
