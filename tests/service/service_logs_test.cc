// Logs through the whole way: the job service's program, a real API server and its rights, and a machine
// whose kubelet is a script.
#include <fmt/format.h>

#include <atomic>

#include "common/testing/await.h"
#include "tests/kube/fault_server.h"
#include "tests/service/logged_service.h"

namespace caravan::service::testing {
namespace {

using grpc::StatusCode;
using kube::testing::Exchange;
using kube::testing::FaultServer;
using ::testing::HasSubstr;
using namespace v1alpha1;

class ServiceLogsTest : public LoggedService {
 protected:
  // To the end, or so many messages.
  grpc::Status read(const Person& person, StreamLogsRequest request, std::string& text, int most = 1 << 30) {
    request.set_name(job_name("train"));
    const auto context = person.call();
    const auto stream = person.stub->StreamLogs(context.get(), request);
    StreamLogsResponse message;
    for (int i = 0; i < most; ++i) {
      if (!stream->Read(&message)) return stream->Finish();
      text += message.data();
      cursor_ = message.cursor();
    }
    context->TryCancel();
    return stream->Finish();
  }

  std::string cursor_;
};

TEST_F(ServiceLogsTest, AreFollowedToTheEndOfTheJobAndGoneOnWithByteForByte) {
  std::atomic<bool> may_end = false;
  const FaultServer kubelet([&](Exchange& exchange) {
    EXPECT_EQ(exchange.request().path, "/containerLogs/" + server_.name_space() + "/train-0-a1/worker");
    exchange.begin_stream();
    exchange.chunk(line(1, "one") + line(2, "two").substr(0, 33));
    if (exchange.request().query.find("follow=true") != std::string::npos) {
      test::await([&]() -> bool { return may_end; });
      end_job();
    }
    exchange.chunk(line(2, "two").substr(33) + line(3, "three"));
    exchange.end_stream();
  });
  start();
  make_account("viewer", {"get", "list", "watch"});
  const Person viewer = person(full_token("viewer"));
  create_job("train");
  make_pod(await_job(viewer, "train"), kubelet.port());
  StreamLogsRequest request;
  request.set_follow(true);
  std::string text;
  EXPECT_EQ(read(viewer, request, text, 1).error_code(), StatusCode::CANCELLED);
  EXPECT_EQ(text, "one\ntw");
  may_end = true;
  request.set_cursor(cursor_);
  const grpc::Status ended = read(viewer, request, text);
  EXPECT_TRUE(ended.ok()) << ended.error_message();
  EXPECT_EQ(text, "one\ntwo\nthree\n");
}

TEST_F(ServiceLogsTest, AreOfWhoeverMayReadTheLogsOfPods) {
  const FaultServer kubelet(kube::testing::reply_with(200, line(1, "one")));
  start();
  make_account("viewer", {"get", "list", "watch"});
  make_account("lister", {"list"});
  make_account("stranger", {});
  const Person viewer = person(full_token("viewer"));
  create_job("train");
  make_pod(await_job(viewer, "train"), kubelet.port());
  std::string text;
  const grpc::Status read_once = read(viewer, {}, text);
  EXPECT_TRUE(read_once.ok()) << read_once.error_message();
  EXPECT_EQ(text, "one\n");
  for (const char* account : {"lister", "stranger"}) {
    const grpc::Status refused = read(person(full_token(account)), {}, text);
    EXPECT_EQ(refused.error_code(), StatusCode::PERMISSION_DENIED) << account << refused.error_message();
  }
  const grpc::Status for_us_alone = read(person(token("viewer", {"caravan"})), {}, text);
  EXPECT_EQ(for_us_alone.error_code(), StatusCode::UNAUTHENTICATED) << for_us_alone.error_message();
  StreamLogsRequest nonsense;
  nonsense.set_cursor("garbage");
  EXPECT_EQ(read(viewer, nonsense, text).error_code(), StatusCode::INVALID_ARGUMENT);
}

TEST_F(ServiceLogsTest, NeedTheRightToTheLogBesideThatToJobAndPod) {
  std::atomic<int> asked = 0;
  const FaultServer kubelet([&](Exchange& exchange) {
    ++asked;
    exchange.reply(200, line(1, "one"));
  });
  start();
  make_account("viewer", {"get", "list", "watch"});
  make_account("blind", {"get", "list", "watch"}, {.reads_logs = false});
  create_job("train");
  make_pod(await_job(person(full_token("viewer")), "train"), kubelet.port());
  std::string text;
  StreamLogsRequest request;
  request.set_follow(true);
  const grpc::Status refused = read(person(full_token("blind")), request, text);
  EXPECT_EQ(refused.error_code(), StatusCode::PERMISSION_DENIED) << refused.error_message();
  EXPECT_THAT(refused.error_message(), HasSubstr("pods/log"));
  EXPECT_EQ(asked, 0);
}

}  // namespace
}  // namespace caravan::service::testing
