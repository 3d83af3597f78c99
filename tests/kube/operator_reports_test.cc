// Reports of a coordinator to the operator's program: over TLS, with a token that the API server issued.
#include <grpcpp/grpcpp.h>

#include <csignal>
#include <fstream>

#include "caravan/v1alpha1/coordination.grpc.pb.h"
#include "kube/api/timestamp.h"
#include "tests/kube/operator_program.h"
#include "worker/agent/report_client.h"

namespace caravan::controller::testing {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

class Reports : public OperatorProgram {
 protected:
  Reports() { std::filesystem::create_directories(folder_); }
  ~Reports() override { std::filesystem::remove_all(folder_); }

  std::string reports_authority() {
    return kube::text_at(client().get({}, at(kConfigMaps), "train-plan").value(),
                         {"data", kReportsAuthorityKey});
  }
  std::string token_of(const std::string& pod) {
    const Json object = client().get({}, at(kube::kPods), pod).value();
    return server_.token("train", kReportAudience, &object);
  }
  // When the API server heard of the last write of the operator's lease, as "2030-01-01T00:00:00.000000Z".
  std::string last_write_of_the_lease() const {
    std::string last;
    std::ifstream log(API_FOLDER "/audit.log");
    for (std::string line; std::getline(log, line);) {
      const Json entry = kube::parse_json(line, "audit").value_or(Json());
      if (kube::text_at(entry, {"objectRef", "resource"}) == "leases" &&
          kube::text_at(entry, {"objectRef", "namespace"}) == server_.name_space())
        last = std::max(last, kube::text_at(entry, {"requestReceivedTimestamp"}));
    }
    return last;
  }
  // As the agent of that pod, which runs.
  std::unique_ptr<agent::ReportClient> connect(const std::string& pod) {
    const std::string authority = folder_ / "ca.crt";
    const std::string token = folder_ / pod;
    std::ofstream(authority) << reports_authority();
    std::ofstream(token) << token_of(pod);
    return agent::ReportClient::connect({.address = "127.0.0.1:" + await_log("reports are taken", "port"),
                                         .authority_file = authority,
                                         .token_file = token,
                                         .first_pause = 20ms},
                                        {.stop = [] {}, .save = [](const std::string&) {}});
  }

  std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / (server_.name_space() + ".reports");
};

v1alpha1::JobReport started(int attempt) {
  v1alpha1::JobReport report;
  report.mutable_attempt_started()->set_attempt(attempt);
  return report;
}

v1alpha1::JobReport made_step(int attempt, int step) {
  v1alpha1::JobReport report;
  report.mutable_step()->set_attempt(attempt);
  report.mutable_step()->set_step(step);
  report.mutable_step()->set_loss(2.5);
  report.mutable_step()->set_tokens_per_second(512);
  return report;
}

v1alpha1::JobReport result(const std::string& kind, const std::string& reason) {
  v1alpha1::JobReport report;
  report.mutable_result()->set_result(kind);
  report.mutable_result()->set_reason(reason);
  report.mutable_result()->set_message("all 100 steps are done");
  return report;
}

TEST_F(Reports, OfTheFirstPodBecomeTheJobsStatus) {
  const Process program = start_operator();
  create_job(job_yaml());
  await_pods({"train-0-a1", "train-1-a1"});
  for (const char* pod : {"train-0-a1", "train-1-a1"}) run(pod);
  const auto coordinator = connect("train-0-a1");
  coordinator->tell(started(1));
  coordinator->tell(made_step(1, 25));
  await_condition("Running", "True StepsAdvancing");
  await("the step", [&] { return kube::integer_at(job(), {"status", "progress", "percent"}) == 25; });
  EXPECT_EQ(job_text({"status", "progress", "loss"}), "2.5");
  v1alpha1::JobReport failure;
  failure.mutable_event()->set_attempt(1);
  failure.mutable_event()->set_reason("OutOfMemory");
  failure.mutable_event()->set_message("rank 3 on node 1 died first");
  failure.mutable_event()->set_restarting(true);
  failure.mutable_event()->set_counts(true);
  coordinator->tell(failure);
  await_condition("Restarting",
                  "True OutOfMemory: restarting (1 of 10 restarts): rank 3 on node 1 died first");
  coordinator->tell(started(2));
  await_condition("Restarting", "False AttemptStarted");
  EXPECT_EQ(kube::integer_at(job(), {"status", "restarts"}), 1);
  EXPECT_THAT(pods(), ::testing::ElementsAre("train-0-a1", "train-1-a1")) << "a failed rank costs no pod";
  coordinator->tell(made_step(2, 100));
  coordinator->tell(result("Complete", "StepsReached"));
  EXPECT_TRUE(coordinator->wait_for_acknowledgement(test::kPatience));
  await_condition("Complete", "True StepsReached: all 100 steps are done");
  EXPECT_EQ(kube::integer_at(job(), {"status", "progress", "percent"}), 100);
}

TEST_F(Reports, OfAnotherPodAreNotTaken) {
  const Process program = start_operator();
  create_job(job_yaml());
  await_pods({"train-0-a1", "train-1-a1"});
  for (const char* pod : {"train-0-a1", "train-1-a1"}) run(pod);
  const auto stranger = connect("train-1-a1");
  stranger->tell(result("Complete", "StepsReached"));
  await_log("is not the one of node 0, which reports", "level");
  EXPECT_EQ(condition("Complete"), "");
  const auto coordinator = connect("train-0-a1");
  coordinator->tell(started(1));
  await_condition("Running", "True Rendezvous");
  EXPECT_EQ(condition("Complete"), "");
}

// The next leader need not wait for those who report to let go.
TEST_F(Reports, EndAfterTheLeaseWasGivenBack) {
  Process program = start_operator();
  create_job(job_yaml());
  await_pods({"train-0-a1", "train-1-a1"});
  for (const char* pod : {"train-0-a1", "train-1-a1"}) run(pod);
  grpc::SslCredentialsOptions tls;
  tls.pem_root_certs = reports_authority();
  const auto channel =
      grpc::CreateChannel("127.0.0.1:" + await_log("reports are taken", "port"), grpc::SslCredentials(tls));
  const auto stub = v1alpha1::JobReports::NewStub(channel);
  grpc::ClientContext context;
  context.AddMetadata("authorization", "Bearer " + token_of("train-0-a1"));
  const auto stream = stub->Report(&context);
  ASSERT_TRUE(stream->Write(started(1)));
  await_condition("Running", "True");
  program.signal_group(SIGTERM);
  v1alpha1::ReportCommand command;
  while (stream->Read(&command)) {
  }
  const std::string ended = kube::to_timestamp(clock_.wall_now());
  stream->Finish();
  EXPECT_EQ(program.wait(), (ExitStatus{.exit_code = 0}));
  EXPECT_EQ(holder_of_the_lease(), "");
  EXPECT_LT(last_write_of_the_lease(), ended);
}

}  // namespace
}  // namespace caravan::controller::testing
