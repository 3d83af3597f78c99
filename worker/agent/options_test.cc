#include "worker/agent/options.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cstdlib>
#include <fstream>
#include <tuple>

#include "caravan/v1alpha1/options.pb.h"
#include "common/json.h"
#include "common/testing/temporary_folder.h"
#include "worker/agent/job_file.h"
#include "worker/agent/testing/scripted_job.h"

namespace caravan::agent {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

ParsedOptions parse(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "caravan-agent");
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  ParsedOptions parsed = parse_options(static_cast<int>(arguments.size()), arguments.data());
  ::testing::internal::GetCapturedStdout();
  return parsed;
}

// What the user reads when the arguments are refused.
std::string refusal(const std::vector<const char*>& arguments) {
  const ParsedOptions parsed = parse(arguments);
  const std::string told = ::testing::internal::GetCapturedStderr();
  const auto* code = std::get_if<ExitCode>(&parsed);
  EXPECT_TRUE(code != nullptr && *code == ExitCode::kBadInput) << told;
  return told;
}

AgentOptions accepted(const std::vector<const char*>& arguments) {
  const ParsedOptions parsed = parse(arguments);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
  return std::get<AgentOptions>(parsed);
}

TEST(Options, NodeZeroListensWhereTheCoordinatorIs) {
  const AgentOptions options = accepted({"--node", "0", "--coordinator", "unix:/tmp/c"});
  EXPECT_EQ(options.listen, "unix:/tmp/c");
  EXPECT_THAT(options.trainer, ::testing::EndsWith("/caravan-trainer"));
}

TEST(Options, ThatNobodyKnowsAreNamedBeforeThoseThatAreMissing) {
  EXPECT_EQ(
      refusal({"--halp"}),
      "caravan-agent has no option \"--halp\"; did you mean --help?\n`caravan-agent --help` tells more.\n");
  EXPECT_THAT(refusal({}), HasSubstr("--node is required"));
}

TEST(Options, TimesAreNumbersInTheirUnit) {
  const AgentOptions options = accepted({"--node", "0", "--listen", "127.0.0.1:0", "--heartbeat-milliseconds",
                                         "250", "--rejoin-timeout-seconds", "30", "--elapsed-seconds", "7"});
  EXPECT_EQ(options.heartbeat, std::chrono::milliseconds(250));
  EXPECT_EQ(options.rejoin_timeout, std::chrono::seconds(30));
  EXPECT_EQ(options.elapsed, std::chrono::seconds(7));
}

TEST(Options, SilenceIsBorneLongerInAPod) {
  const auto patience = [](std::vector<const char*> more) {
    more.insert(more.end(), {"--node", "0", "--listen", "127.0.0.1:0"});
    return accepted(more).patience;
  };
  EXPECT_EQ(patience({}), std::chrono::milliseconds(3500));
  EXPECT_EQ(patience({"--heartbeat-milliseconds", "200"}), std::chrono::milliseconds(700));
  EXPECT_EQ(patience({"--in-pod"}), std::chrono::seconds(20));
  EXPECT_EQ(patience({"--in-pod", "--patience-milliseconds", "9000"}), std::chrono::seconds(9));
  EXPECT_THAT(refusal({"--node", "0", "--listen", "127.0.0.1:0", "--patience-milliseconds", "1999"}),
              HasSubstr("--patience-milliseconds: must be at least two heartbeats"));
}

TEST(Options, AnAgentHasANameOfItsOwnUnlessItsPodHasOne) {
  const auto name = [](std::vector<const char*> more) {
    more.insert(more.end(), {"--node", "1", "--coordinator", "h:1"});
    return accepted(more).incarnation;
  };
  EXPECT_NE(name({}), name({}));
  EXPECT_EQ(name({"--incarnation", "uid"}), "uid");
}

TEST(Options, TheEnvironmentOfAPodIsEnough) {
  setenv("CARAVAN_NODE_INDEX", "3", 1);
  setenv("CARAVAN_COORDINATOR", "job-0.job:7070", 1);
  setenv("CARAVAN_JOB_UID", "uid", 1);
  setenv("CARAVAN_IN_POD", "1", 1);
  const AgentOptions options = accepted({});
  for (const char* name : {"CARAVAN_NODE_INDEX", "CARAVAN_COORDINATOR", "CARAVAN_JOB_UID", "CARAVAN_IN_POD"})
    unsetenv(name);
  EXPECT_EQ(options.node, 3);
  EXPECT_EQ(options.coordinator, "job-0.job:7070");
  EXPECT_EQ(options.job_uid, "uid");
  EXPECT_TRUE(options.in_pod);
  EXPECT_FALSE(accepted({"--node", "1", "--coordinator", "h:1"}).in_pod);
}

TEST(Options, ATokenIsShownOverTlsOnly) {
  EXPECT_THAT(refusal({"--node", "0", "--listen", "127.0.0.1:0", "--reports-token-file", "/t"}),
              HasSubstr("--reports-authority-file"));
}

TEST(Options, AMistakeIsToldWithItsFlag) {
  EXPECT_THAT(refusal({}), HasSubstr("--node"));
  EXPECT_THAT(refusal({"--node", "-1"}), HasSubstr("--node"));
  EXPECT_THAT(refusal({"--node", "0"}), HasSubstr("--listen"));
  EXPECT_THAT(refusal({"--node", "1"}), HasSubstr("--coordinator"));
  EXPECT_THAT(refusal({"--node", "1", "--coordinator", "h:1", "--listen", "h:1"}), HasSubstr("only node 0"));
  EXPECT_THAT(refusal({"--node", "1", "--coordinator", "host"}), HasSubstr("'host' is not HOST:PORT"));
  EXPECT_THAT(refusal({"--node", "1", "--coordinator", "host:70000"}),
              HasSubstr("'host:70000' is not HOST:PORT"));
  EXPECT_THAT(refusal({"--node", "1", "--coordinator", "h:1", "--metrics", "unix:/x"}),
              HasSubstr("--metrics"));
  EXPECT_THAT(refusal({"--node", "1", "--coordinator", "h:1", "--heartbeat-milliseconds", "5"}),
              HasSubstr("at least 10"));
  EXPECT_THAT(refusal({"--node", "1", "--coordinator", "h:1", "--nod", "1"}), HasSubstr("--nod"));
}

class JobFileTest : public ::testing::Test {
 protected:
  JobFileTest() { options_.node = 0; }
  Result<v1alpha1::JobPlan> read(const std::string& text) {
    options_.plan_file = folder_.path() / "plan.json";
    std::ofstream(options_.plan_file) << text;
    return read_job(options_);
  }
  std::string problem(const v1alpha1::JobPlan& job) {
    const auto read_back = read(to_json(job));
    EXPECT_FALSE(read_back);
    if (read_back) return "";
    EXPECT_EQ(read_back.error().code, ExitCode::kBadInput);
    EXPECT_THAT(read_back.error().message, HasSubstr(options_.plan_file));
    return read_back.error().message;
  }
  test::TemporaryFolder folder_;
  AgentOptions options_;
};

TEST_F(JobFileTest, APlanIsRead) {
  const auto job = read(to_json(testing::scripted_job(2, 4, 10)));
  ASSERT_TRUE(job) << job.error().message;
  EXPECT_EQ(planner::shape_of(*job).ranks_per_node(), 2);
}

TEST_F(JobFileTest, WhatIsWrongIsToldWithFileAndField) {
  v1alpha1::JobPlan job = testing::scripted_job(2, 4, 10);
  options_.node = 2;
  EXPECT_THAT(problem(job), HasSubstr("nodes is 2, but --node is 2"));
  options_.node = 0;
  options_.job_uid = "other";
  EXPECT_THAT(problem(job), HasSubstr("jobUid is uid-1, but --job-uid is other"));
  options_.job_uid.clear();
  job.set_nodes(5);
  EXPECT_THAT(problem(job), HasSubstr("nodes is 5"));
  job.set_nodes(3);
  EXPECT_THAT(problem(job), HasSubstr("4 ranks cannot be spread over 3 nodes"));
  job.mutable_plan()->set_tensor(0);
  EXPECT_THAT(problem(job), HasSubstr("plan.tensor"));
  EXPECT_THAT(problem(testing::scripted_job(1, 1, 0)), HasSubstr("spec.training.steps"));
}

TEST_F(JobFileTest, ATextThatIsNoPlanIsBadInput) {
  for (const char* text : {"", "[]", "{\"nodes\":\"x\"}"})
    EXPECT_EQ(read(text).error().code, ExitCode::kBadInput);
  options_.plan_file = "/no/such/file";
  EXPECT_THAT(read_job(options_).error().message,
              HasSubstr("--plan: cannot read /no/such/file: No such file or directory"));
}

TEST_F(JobFileTest, APlanOfALaterVersionIsFollowedUnlessItAsksForWhatIsNotKnown) {
  v1alpha1::JobPlan job = testing::scripted_job(2, 4, 10);
  v1alpha1::Training& training = *job.mutable_spec()->mutable_training();
  training.set_precision(v1alpha1::Precision::BF16);
  training.mutable_optimizer()->set_kind(v1alpha1::Optimizer::AdamW);
  training.mutable_optimizer()->set_schedule(v1alpha1::Optimizer::Cosine);
  training.mutable_optimizer()->set_state_type(v1alpha1::Precision::FP32);
  job.mutable_plan()->set_activation_checkpointing(v1alpha1::ActivationCheckpointing::Always);
  job.mutable_spec()->mutable_resources()->mutable_device()->set_kind(v1alpha1::Device::GPU);
  job.mutable_spec()->mutable_checkpoint()->set_resume(v1alpha1::Checkpoint::Never);
  v1alpha1::FailureRule& rule = *job.mutable_spec()->mutable_failure_policy()->add_rules_list();
  rule.set_on_reason("OutOfMemory");
  rule.set_action(v1alpha1::FailureRule::Fail);
  std::string text = to_json(job);
  text.insert(1, R"("tuning": {"kernels": "fast"}, )");
  ASSERT_TRUE(read(text)) << read(text).error().message;
  EXPECT_EQ(read(text)->spec().training().steps(), 10);
  EXPECT_TRUE(read_spec(options_));
  const std::tuple<std::string, std::string, std::string> choices[] = {
      {"BF16", "FP06", "spec.training.precision"},
      {R"("kind":"GPU")", R"("kind":"TPU")", "spec.resources.device.kind"},
      {R"("resume":"Never")", R"("resume":"Exact")", "spec.checkpoint.resume"},
      {R"("action":"Fail")", R"("action":"Wait")", "spec.failurePolicy.rules[0].action"},
      {R"("onReason")", R"("onNode")", "spec.failurePolicy.rules[0]"}};
  for (const auto& [known, unknown, field] : choices) {
    std::string other = text;
    other.replace(other.find(known), known.size(), unknown);
    const auto refused = read(other);
    ASSERT_FALSE(refused) << field;
    EXPECT_THAT(refused.error().message, HasSubstr(field + " is not known to this version"));
  }
}

TEST_F(JobFileTest, TheCoordinatorTakesItsLimitsFromTheSpec) {
  v1alpha1::JobPlan job = testing::scripted_job(2, 4, 10);
  job.mutable_spec()->set_stall_timeout_seconds(7);
  job.mutable_spec()->set_active_deadline_seconds(8);
  job.mutable_spec()->mutable_failure_policy()->set_max_restarts(9);
  options_.restarts = 1;
  options_.short_attempts = 3;
  const CoordinatorConfig config = coordinator_config(job, options_);
  EXPECT_EQ(config.stall_timeout, std::chrono::seconds(7));
  EXPECT_EQ(config.active_deadline, std::chrono::seconds(8));
  EXPECT_EQ(config.failure_policy.max_restarts(), 9);
  EXPECT_EQ(config.restarts, 1);
  EXPECT_EQ(config.short_attempts, 3);
  EXPECT_FALSE(config.losses_judged_elsewhere);
  EXPECT_EQ(config.steps, 10);
  EXPECT_FALSE(config.device_peak_flops);
  options_.losses_judged_elsewhere = true;
  EXPECT_FALSE(coordinator_config(job, options_).active_deadline);
}

TEST_F(JobFileTest, WhereTheJobHasNoTimesTheyAreTheSchemas) {
  const auto seconds = [](const char* name) {
    const auto* field = v1alpha1::JobSpec::descriptor()->FindFieldByName(name);
    return field->options().GetExtension(v1alpha1::rules).default_value();
  };
  EXPECT_EQ(seconds("stall_timeout_seconds"), std::to_string(kStallTimeout.count()));
  EXPECT_EQ(seconds("log_every_seconds"), std::to_string(kLogEvery.count()));
}

TEST_F(JobFileTest, TheSpecIsReadAsItStandsInTheFileNow) {
  v1alpha1::JobPlan job = testing::scripted_job(2, 4, 10);
  for (const int timeout : {7, 9}) {
    job.mutable_spec()->set_stall_timeout_seconds(timeout);
    job.mutable_spec()->mutable_failure_policy()->set_max_restarts(timeout);
    ASSERT_TRUE(read(to_json(job)));
    const auto spec = read_spec(options_);
    ASSERT_TRUE(spec) << spec.error().message;
    EXPECT_EQ(limits_of(*spec).stall_timeout, std::chrono::seconds(timeout));
    EXPECT_EQ(limits_of(*spec).failure_policy.max_restarts(), timeout);
  }
}

}  // namespace
}  // namespace caravan::agent
