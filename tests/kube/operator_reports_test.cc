// Reports of a coordinator to the operator's program: over TLS, with a token that the API server issued.
#include <fstream>

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

  // As the agent of that pod, which runs.
  std::unique_ptr<agent::ReportClient> connect(const std::string& pod) {
    const Json object = client().get({}, at(kube::kPods), pod).value();
    const Json plan = client().get({}, at(kConfigMaps), "train-plan").value();
    const std::string authority = folder_ / "ca.crt";
    const std::string token = folder_ / pod;
    std::ofstream(authority) << kube::text_at(plan, {"data", kReportsAuthorityKey});
    std::ofstream(token) << server_.token("train", kReportAudience, &object);
    return agent::ReportClient::connect({.address = "127.0.0.1:" + await_log("reports are taken", "port"),
                                         .authority_file = authority,
                                         .token_file = token,
                                         .first_pause = 20ms},
                                        [] {});
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
  await_condition("Restarting", "True RankFailed: rank 3 on node 1 died first");
  coordinator->tell(started(2));
  await_condition("Restarting", "False AttemptStarted");
  EXPECT_EQ(kube::integer_at(job(), {"status", "restarts"}), 1);
  EXPECT_THAT(pods(), ::testing::ElementsAre("train-0-a1", "train-1-a1")) << "a failed rank costs no pod";
  coordinator->tell(made_step(2, 100));
  coordinator->tell(result("Complete", "StepsReached"));
  EXPECT_TRUE(coordinator->wait_for_acknowledgement(kPatience));
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

}  // namespace
}  // namespace caravan::controller::testing
