// What commands with --server read of streams and of the operator: logs, curves, events, quotas, estimates.
#include <atomic>
#include <limits>
#include <thread>

#include "common/testing/await.h"
#include "tests/crd/job_states.h"
#include "tests/service/logged_service.h"
#include "tests/service/operated_service.h"
#include "tests/service/service_commands.h"

namespace caravan::service::testing {
namespace {

using kube::JsonArray;
using kube::JsonObject;
using kube::testing::Exchange;
using kube::testing::FaultServer;
using ::testing::AllOf;
using ::testing::HasSubstr;

class ServiceLogCommands : public ServiceCommands<LoggedService> {
 protected:
  void begin(int kubelet_port) {
    start();
    create_job("train");
    make_pod(await_job(person(*ada_), "train"), kubelet_port);
  }
  // What is told of a log whose second line has come before the service dies, and whose end when it is back.
  std::string follow_through_an_outage() {
    RunningCommand logs(folder_, command_on_service("logs train --follow"));
    logs.await_told("two\n");
    die();
    logs.await_said("\n");
    goes_on_ = true;
    end_job();
    start_again();
    EXPECT_EQ(logs.exit_code(), 0);
    said_ = logs.said();
    return logs.told();
  }
  // The same where the token expires meanwhile.
  std::string follow_through_a_renewal(bool by_plugin) {
    const FaultServer kubelet([&](Exchange& exchange) {
      exchange.begin_stream();
      exchange.chunk(line(1, "one") + line(2, "two") + (goes_on_ ? line(3, "three") : ""));
      exchange.end_stream();
    });
    begin(kubelet.port());
    const std::string words = "logs train --follow";
    RunningCommand logs(folder_, by_plugin ? command_by_plugin(words) : command_on_service(words));
    logs.await_told("two\n");
    if (by_plugin) fail_plugin();
    renew_token("StreamLogs");
    goes_on_ = true;
    end_job();
    EXPECT_EQ(logs.exit_code(), 0) << logs.said();
    said_ = logs.said();
    return logs.told();
  }
  std::atomic<bool> goes_on_ = false;
  std::string said_;
};

TEST_F(ServiceLogCommands, ReadAsOnTheApiServer) {
  const FaultServer kubelet(kube::testing::reply_with(
      200, line(1, "one") + line(2, "") + line(3, "T info agent-0: rank 1: of rank 1") + line(4, "four")));
  begin(kubelet.port());
  set_status(R"({"plan": {"document": "{\"plan\": {\"devicesPerNode\": 2}}"}})");
  await_service();
  for (const char* words : {"logs train", "logs train --rank 1", "logs train --all", "logs train --rank 7"}) {
    const Outcome direct = on_api_server(words);
    const Outcome served = on_service(words);
    EXPECT_EQ(served.exit_code, direct.exit_code) << words << served.err;
    EXPECT_EQ(served.out, direct.out) << words;
    EXPECT_EQ(served.err, direct.err) << words;
  }
  EXPECT_EQ(on_service("logs train --rank 1").out, "of rank 1\n");
}

TEST_F(ServiceLogCommands, AreFollowedThroughAnOutageOfTheServiceEachLineOnce) {
  const FaultServer kubelet([&](Exchange& exchange) {
    exchange.begin_stream();
    exchange.chunk(line(1, "one") + line(2, "two"));
    test::await([&]() -> bool { return goes_on_; });
    exchange.chunk(line(3, "three"));
    exchange.end_stream();
  });
  begin(kubelet.port());
  EXPECT_EQ(follow_through_an_outage(), "one\ntwo\nthree\n");
  EXPECT_THAT(said_, HasSubstr("it is asked again until it answers"));
}

TEST_F(ServiceLogCommands, GoOnWithWhatThereIsWhereTheLogWasRotated) {
  const FaultServer kubelet([&](Exchange& exchange) {
    exchange.begin_stream();
    if (!goes_on_) exchange.chunk(line(1, "one") + line(2, "two"));
    test::await([&]() -> bool { return goes_on_; });
    exchange.chunk(line(8, "eight") + line(9, "nine"));
    exchange.end_stream();
  });
  begin(kubelet.port());
  EXPECT_EQ(follow_through_an_outage(), "one\ntwo\neight\nnine\n");
  EXPECT_THAT(said_, HasSubstr("it goes on with what there is"));
}

TEST_F(ServiceLogCommands, GoOnWithTheTokenThatIsInItsFileWhenTheOneBeforeExpires) {
  EXPECT_EQ(follow_through_a_renewal(/*by_plugin=*/false), "one\ntwo\nthree\n");
}

TEST_F(ServiceLogCommands, GoOnWhereTheCredentialPluginFailsForAWhile) {
  EXPECT_EQ(follow_through_a_renewal(/*by_plugin=*/true), "one\ntwo\nthree\n");
  EXPECT_THAT(said_, AllOf(HasSubstr("credential plugin"), HasSubstr("it is asked again until it answers")));
}

TEST_F(ServiceLogCommands, OfAJobThatIsDeletedMeanwhileSaySo) {
  std::atomic<bool> is_deleted = false;
  const FaultServer kubelet([&](Exchange& exchange) {
    exchange.begin_stream();
    exchange.chunk(line(1, "one"));
    test::await([&]() -> bool { return is_deleted; });
    exchange.end_stream();
  });
  begin(kubelet.port());
  RunningCommand logs(folder_, command_on_service("logs train --follow"));
  logs.await_told("one\n");
  on_api_server("delete train");
  is_deleted = true;
  EXPECT_EQ(logs.exit_code(), 1);
  EXPECT_EQ(logs.said(), "job train was deleted\n");
}

TEST_F(ServiceLogCommands, OfAJobWithoutAPodSayThatThereIsNone) {
  start();
  create_job("train");
  await_service();
  const Outcome direct = on_api_server("logs train");
  const Outcome served = on_service("logs train");
  EXPECT_EQ(served.exit_code, 1);
  EXPECT_EQ(served.err, direct.err);
}

class ServiceStepCommands : public ServiceCommands<OperatedService> {
 protected:
  void begin() {
    start_with_operator();
    create_job("train");
    uid_ = await_job(person(*ada_), "train").uid();
  }
  std::string uid_;
};

TEST_F(ServiceStepCommands, PlotDrawsTheStepsThatTheOperatorKeeps) {
  begin();
  const Outcome none = on_service("plot loss train");
  EXPECT_EQ(none.exit_code, 1);
  EXPECT_EQ(none.err, "what the operator keeps of job train has no loss yet\n");
  for (const int step : {1, 2, 3})
    history_->add(uid_, {.at = {1, step}, .loss = 4.5f - static_cast<float>(step)});
  history_->add(uid_, {.at = {1, 4}, .loss = std::numeric_limits<float>::quiet_NaN()});
  history_->tell(uid_);
  const Outcome drawn = on_service("plot loss train --ascii");
  EXPECT_EQ(drawn.exit_code, 0) << drawn.err;
  EXPECT_THAT(drawn.out, HasSubstr("Loss of job train: 1.5 at step 3\n"));
  EXPECT_THAT(drawn.err, HasSubstr("1 steps, the first is step 4 with loss nan"));
}

TEST_F(ServiceStepCommands, PlotSaysWhereNobodyTellsOfSteps) {
  start();
  create_job("train");
  await_service();
  const Outcome none = on_service("plot loss train");
  EXPECT_EQ(none.exit_code, 1);
  EXPECT_THAT(none.err, AllOf(HasSubstr("without --operator"), HasSubstr("what node 0 has logged")));
}

TEST_F(ServiceStepCommands, EventsDescribeAndDoctorTellWhatTheServiceKnows) {
  begin();
  ASSERT_TRUE(server_.client().create({}, {.resource = kube::kEvents, .name_space = server_.name_space()},
                                      kube::testing::event_about(server_.name_space(), "train", uid_)));
  const Outcome served = on_service("events train");
  EXPECT_EQ(without_ages(served.out), without_ages(on_api_server("events train").out)) << served.err;
  EXPECT_THAT(served.out, HasSubstr("needs 4 more devices"));
  EXPECT_THAT(on_service("events train -o json").out, HasSubstr("needs 4 more devices"));

  const Outcome described = on_service("describe train");
  EXPECT_EQ(described.exit_code, 0);
  EXPECT_EQ(without_ages(described.out), without_ages(on_api_server("describe train").out));
  EXPECT_EQ(described.err,
            "without a look at pods: the job service does not tell of pods; without --server and "
            "$CARAVAN_SERVER the API server does\n");
  const Outcome examined = on_service("doctor train");
  EXPECT_EQ(examined.exit_code, on_api_server("doctor train").exit_code);
  EXPECT_EQ(without_ages(examined.out), without_ages(on_api_server("doctor train").out));
  EXPECT_THAT(examined.err, AllOf(HasSubstr("without a look at pods"), HasSubstr("without a look at nodes")));
}

TEST_F(ServiceStepCommands, DoctorNamesTheQuotaThatIsUsedUp) {
  begin();
  const kube::ResourcePath quotas{.resource = kube::kResourceQuotas, .name_space = server_.name_space()};
  const JsonObject pods{{"pods", "2"}};
  ASSERT_TRUE(server_.client().create({}, quotas,
                                      JsonObject{{"apiVersion", "v1"},
                                                 {"kind", "ResourceQuota"},
                                                 {"metadata", JsonObject{{"name", "narrow"}}},
                                                 {"spec", JsonObject{{"hard", pods}}}}));
  ASSERT_TRUE(server_.client().merge_status(
      {}, quotas, "narrow", JsonObject{{"status", JsonObject{{"hard", pods}, {"used", pods}}}}));
  set_status(R"({"state": "Pending", "conditions": [
      {"type": "Planned", "status": "True", "reason": "HeuristicSelected", "message": "it fits",
       "lastTransitionTime": "2026-01-01T00:00:00Z"},
      {"type": "Scheduled", "status": "False", "reason": "PodsRefused", "message": "exceeded quota: narrow",
       "lastTransitionTime": "2026-01-01T00:00:00Z"}]})");
  await_service();
  const Outcome direct = on_api_server("doctor train");
  const Outcome served = on_service("doctor train");
  EXPECT_EQ(served.exit_code, 1) << served.err;
  EXPECT_EQ(served.out, direct.out);
  EXPECT_THAT(served.out, HasSubstr("the namespace's quota narrow is used up: 2 pods of 2"));
}

TEST_F(ServiceStepCommands, EstimateIsThatOfTheService) {
  start();
  folder_.write("job.yaml", kube::testing::job_yaml(1));
  for (const char* words :
       {"estimate job.yaml", "estimate job.yaml -o json", "estimate job.yaml --devices 2,4",
        "estimate job.yaml --set spec.resources.device.memory=1Mi"}) {
    const Outcome direct = on_api_server(words);
    const Outcome served = on_service(words);
    EXPECT_EQ(served.exit_code, direct.exit_code) << words << served.err;
    EXPECT_EQ(served.out, direct.out) << words;
    EXPECT_EQ(served.err, direct.err) << words;
  }
  EXPECT_THAT(on_service("estimate job.yaml").out, HasSubstr("on 2 devices"));
}

}  // namespace
}  // namespace caravan::service::testing
