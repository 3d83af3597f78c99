// The life of a job, from its creation to its deletion.
#include <boost/json/serialize.hpp>
#include <csignal>

#include "operator/api/cancellation.h"
#include "tests/kube/operator_program.h"

namespace caravan::controller::testing {
namespace {

using ::testing::Contains;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

TEST_F(OperatorProgram, AJobBecomesPodsLosesOneAndCompletes) {
  const Process program = start_operator();
  create_job(job_yaml());
  await_pods({"train-0-a1", "train-1-a1"});
  EXPECT_EQ(job_text({"status", "layout"}), "TP1 PP1 DP4");
  for (const char* pod : {"train-0-a1", "train-1-a1"}) run(pod);
  await_condition("Scheduled", "all 2 pods have a machine");
  end("train-1-a1", "Failed", 137);
  await_pods({"train-0-a1", "train-1-a2"});
  end("train-0-a1", "Succeeded", 0);
  await_state("Complete");
  for (const char* reason : {"HeuristicSelected", "AllPodsBound", "PodLost", "StepsReached"})
    await(std::string("event ") + reason, [&] { return has_event(reason); });
}

TEST_F(OperatorProgram, KeepsACertificateOfTheJobServiceOnlyWhereItIsToldItsNames) {
  const auto key_of_service = [&] {
    const auto secret = client().get({}, at(kSecrets), "caravan-service-certificate");
    return secret ? kube::text_at(*secret, {"data", "tls.key"}) : "";
  };
  Process without = start_operator();
  create_job(job_yaml());
  await_pods({"train-0-a1", "train-1-a1"});
  without.signal_group(SIGTERM);
  without.wait();
  EXPECT_EQ(key_of_service(), "");

  Process first = start_operator({"--service-names", "a,192.0.2.7"});
  await("the certificate", [&] { return !key_of_service().empty(); });
  const std::string key = key_of_service();
  const auto root = [&] {
    const auto found = client().get({}, at(kConfigMaps), "caravan-service-root");
    return found ? kube::text_at(*found, {"data", "ca.crt"}) : "";
  };
  await("the root", [&] { return !root().empty(); });
  first.signal_group(SIGTERM);
  first.wait();

  const Json spoilt = JsonObject{{"data", JsonObject{{"tls.crt", nullptr}}}};
  ASSERT_TRUE(client().merge({}, at(kSecrets), "caravan-service-certificate", spoilt));
  const std::string root_before = root();
  const Process second = start_operator({"--service-names", "a,192.0.2.7"});
  await("another key", [&] { return !key_of_service().empty() && key_of_service() != key; });
  EXPECT_EQ(root(), root_before);
}

TEST_F(OperatorProgram, PodsThatCrashedTwiceOnANodeAreMadeElsewhere) {
  const Process program = start_operator();
  create_job(job_yaml());
  await_pods({"train-0-a1", "train-1-a1"});
  for (const char* pod : {"train-0-a1", "train-1-a1"}) run(pod);
  await_condition("Scheduled", "all 2 pods have a machine");
  end("train-1-a1", "Failed", 139);
  await_pods({"train-0-a1", "train-1-a2"});
  run("train-1-a2");
  end("train-1-a2", "Failed", 139);
  await("event NodeAvoided", [&] { return has_event("NodeAvoided"); });
  let_go("train-0-a1");  // its machine was the same
  await_pods({"train-0-a3", "train-1-a3"});
  for (const Json& pod : all(kube::kPods)) {
    const Json* affinity = kube::find(
        pod, {"spec", "affinity", "nodeAffinity", "preferredDuringSchedulingIgnoredDuringExecution"});
    ASSERT_NE(affinity, nullptr);
    EXPECT_THAT(boost::json::serialize(*affinity), HasSubstr(R"("values":["machine"])"));
  }
  const Json trained = job();
  const Json* failed = kube::find(trained, {"status", "failedMachines"});
  ASSERT_NE(failed, nullptr);
  EXPECT_THAT(failed->as_array(), SizeIs(1));
}

TEST_F(OperatorProgram, ACancelledJobHasFailedForGoodOnceItsPodsAreGone) {
  const Process program = start_operator();
  create_job(job_yaml());
  await_pods({"train-0-a1", "train-1-a1"});
  for (const char* pod : {"train-0-a1", "train-1-a1"}) run(pod);
  const auto cancelled = server_.merge(
      "/train",
      JsonObject{{"metadata", JsonObject{{"annotations", JsonObject{{annotations::kCancel, kCancelled}}}}}});
  ASSERT_TRUE(cancelled.is_success()) << cancelled.message();
  await("pods are deleted", [&] {
    const JsonArray ending = all(kube::kPods);
    return std::all_of(ending.begin(), ending.end(), kube::is_being_deleted);
  });
  for (const char* pod : {"train-0-a1", "train-1-a1"}) let_go(pod);
  await_condition("Failed", "True Cancelled");
  await_pods({});
  EXPECT_EQ(job_text({"status", "state"}), "Failed");
}

TEST_F(OperatorProgram, ASuspendedJobKeepsItsAttemptAndResumesWhenItsOldPodsAreGone) {
  const Process program = start_operator();
  create_job(job_yaml());
  await_pods({"train-0-a1", "train-1-a1"});
  for (const char* pod : {"train-0-a1", "train-1-a1"}) run(pod);
  set_suspended(true);
  await_state("Suspended");
  const auto both_are_ending = [&] {
    const JsonArray ending = all(kube::kPods);
    return std::all_of(ending.begin(), ending.end(), kube::is_being_deleted);
  };
  await("pods are deleted", both_are_ending);
  EXPECT_EQ(kube::integer_at(job(), {"status", "attempt"}), 1);
  set_suspended(false);
  await_condition("Suspended", "False Resumed");
  EXPECT_THAT(pods(), SizeIs(2)) << "each machine still ends its old pod";
  let_go("train-1-a1");
  await_pods({"train-0-a1", "train-1-a2"});
  let_go("train-0-a1");
  await_pods({"train-0-a2", "train-1-a2"});
  EXPECT_EQ(kube::integer_at(job(), {"status", "attempt"}), 2);
  EXPECT_EQ(kube::integer_at(job(), {"status", "restarts"}), 0);
}

TEST_F(OperatorProgram, AJobThatIsSuspendedFromTheStartHasAPlanAndNoPods) {
  const Process program = start_operator();
  create_job(job_yaml(2, "  suspend: true"));
  await_state("Suspended");
  EXPECT_EQ(job_text({"status", "layout"}), "TP1 PP1 DP4");
  EXPECT_THAT(children(), IsEmpty());
  set_suspended(false);
  await_pods({"train-0-a1", "train-1-a1"});
}

TEST_F(OperatorProgram, EveryChildIsOwnedByItsJobAlone) {
  const Process program = start_operator();
  create_job(job_yaml());
  await_pods({"train-0-a1", "train-1-a1"});
  const std::string uid = kube::uid_of(job());
  EXPECT_THAT(children(), SizeIs(7));
  for (const kube::Resource& resource :
       {kube::kPods, kServices, kConfigMaps, kServiceAccounts, kNetworkPolicies, kSecrets}) {
    for (const Json& child : all(resource)) {
      EXPECT_EQ(kube::controller_uid_of(child), uid) << resource.plural;
      EXPECT_THAT(kube::find(child, {"metadata", "ownerReferences"})->as_array(), SizeIs(1));
    }
  }
}

// The garbage collector may be slow: what the first job leaves behind has the second one's names.
TEST_F(OperatorProgram, AJobMadeAnewWaitsForTheChildrenOfTheOneBeforeAndAdoptsNone) {
  const Process program = start_operator();
  create_job(job_yaml());
  await_pods({"train-0-a1", "train-1-a1"});
  for (const char* pod : {"train-0-a1", "train-1-a1"}) run(pod);
  const std::string first = kube::uid_of(job());
  ASSERT_TRUE(client().remove({}, at(kJobs), "train", {}));
  create_job(job_yaml());
  await_condition("Scheduled", "belongs to an earlier job of this name");
  for (const kube::Resource& resource :
       {kServices, kConfigMaps, kServiceAccounts, kNetworkPolicies, kSecrets}) {
    for (const Json& child : all(resource)) remove_if_of(first, resource, child);
  }
  await("only pods are in the way",
        [&] { return condition("Scheduled").find("pods/train-") != std::string::npos; });
  for (const Json& pod : all(kube::kPods)) EXPECT_EQ(kube::controller_uid_of(pod), first);
  for (const char* pod : {"train-0-a1", "train-1-a1"}) let_go(pod);
  const std::string second = kube::uid_of(job());
  await("pods of the second job", [&] {
    const JsonArray now = all(kube::kPods);
    return now.size() == 2 && std::all_of(now.begin(), now.end(), [&](const Json& pod) {
             return kube::controller_uid_of(pod) == second;
           });
  });
  for (const char* pod : {"train-0-a1", "train-1-a1"}) bind(pod);
  await_condition("Scheduled", "all 2 pods have a machine");
  EXPECT_EQ(kube::integer_at(job(), {"status", "restarts"}), 0);
}

TEST_F(OperatorProgram, AJobThatIsDeletedInItsRunGetsNoPodsAnyMore) {
  const Process program = start_operator();
  create_job(job_yaml());
  await_pods({"train-0-a1", "train-1-a1"});
  ASSERT_TRUE(client().remove({}, at(kJobs), "train", {}));
  create_job(job_yaml(1, "", "next"));
  const auto await_pod = [&](const std::string& pod) {
    await(pod, [&] { return std::ranges::count(pods(), pod) == 1; });
  };
  await_pod("next-0-a1");  // whoever knows of this job knows that the other one is gone
  for (const char* pod : {"train-0-a1", "train-1-a1"}) let_go(pod);
  create_job(job_yaml(1, "", "last"));
  await_pod("last-0-a1");
  EXPECT_THAT(pods(), Each(Not(HasSubstr("train"))));
}

TEST_F(OperatorProgram, AJobOfAnotherControllerIsLeftAlone) {
  const Process program = start_operator();
  create_job(job_yaml(1, "  managedBy: kueue.x-k8s.io/multikueue", "theirs"));
  create_job(job_yaml());
  await_pods({"train-0-a1", "train-1-a1"});
  EXPECT_EQ(kube::find(job("theirs"), {"status"}), nullptr);
  EXPECT_THAT(children(), Each(Not(HasSubstr("theirs"))));
}

TEST_F(OperatorProgram, ReachesTheEndThatALostPodOfNodeZeroHadWritten) {
  const Process program = start_operator();
  create_job(job_yaml());
  await_pods({"train-0-a1", "train-1-a1"});
  for (const char* pod : {"train-0-a1", "train-1-a1"}) run(pod);
  const JsonObject last{
      {"exitCode", 1},
      {"message", R"({"result":"Failed","reason":"NonFiniteLoss","message":"the loss is not finite"})"}};
  mark("train-0-a1",
       {{"phase", "Failed"},
        {"containerStatuses", JsonArray{JsonObject{{"name", "worker"},
                                                   {"image", "worker:test"},
                                                   {"imageID", ""},
                                                   {"ready", false},
                                                   {"restartCount", 0},
                                                   {"state", JsonObject{{"terminated", last}}}}}}});
  await_condition("Failed", "True NonFiniteLoss: the loss is not finite");
}

}  // namespace
}  // namespace caravan::controller::testing
