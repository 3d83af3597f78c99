// The decision as a whole: what a job is given, and what is left alone.
#include "operator/controller/decide.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <string>
#include <vector>

#include "operator/children/plan_object.h"
#include "operator/testing/decisions.h"

namespace caravan::controller::testing {
namespace {

using namespace std::chrono_literals;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

TEST(Decide, ANewJobGetsItsPlanThenItsChildrenCertificatesFirst) {
  const Decision decision = decide_at(new_job());
  EXPECT_THAT(effects_of(decision), ElementsAre("create certificates", "create serviceaccounts/train",
                                                "create networkpolicies/train", "create services/train",
                                                "create configmaps/train-plan", "create pods/train-0-a1",
                                                "create pods/train-1-a1"));
  EXPECT_EQ(condition(decision, conditions::kPlanned).status(), "True");
  EXPECT_EQ(decision.status.layout(), "TP1 PP1 DP4");
  EXPECT_EQ(decision.status.attempt(), 1);
}

TEST(Decide, EachNewValueOfTheAnnotationAsksForACheckpointUntilItIsAnswered) {
  Snapshot snapshot = running_job(R"(, "checkpoint": {"path": "mine", "claimName": "c"})");
  const auto asks = [&] {
    const Decision decision = decide_at(snapshot);
    snapshot.job.status = decision.status;
    std::vector<std::string> asked;
    for (const std::string& effect : effects_of(decision))
      if (effect.starts_with("ask for a checkpoint ")) asked.push_back(effect.substr(21));
    return asked;
  };
  snapshot.job.uid = "uid";
  EXPECT_THAT(asks(), IsEmpty());
  snapshot.job.checkpoint_request = "before the upgrade";
  EXPECT_THAT(asks(), IsEmpty()) << "the ranks start";
  snapshot.progress->step.emplace().set_step(1);
  EXPECT_THAT(asks(), ElementsAre("uid/before the upgrade"));
  EXPECT_EQ(snapshot.job.status.checkpoint_request(), "");
  EXPECT_THAT(asks(), ElementsAre("uid/before the upgrade")) << "whoever was asked may be gone";

  snapshot.progress->answered_request = "other/before the upgrade";
  EXPECT_THAT(asks(), ElementsAre("uid/before the upgrade")) << "that was another job's";
  snapshot.progress->answered_request = "uid/before the upgrade";
  EXPECT_THAT(asks(), IsEmpty());
  EXPECT_EQ(snapshot.job.status.checkpoint_request(), "before the upgrade");
  snapshot.progress->answered_request.clear();
  EXPECT_THAT(asks(), IsEmpty()) << "an operator that took over has the status alone";

  snapshot.job.checkpoint_request = "and again";
  EXPECT_THAT(asks(), ElementsAre("uid/and again"));
  snapshot.job.checkpoint_request = std::string(257, 'x');
  EXPECT_THAT(asks(), IsEmpty()) << "longer than the status remembers";
}

TEST(Decide, AnAnswerThatComesWithTheEndOfTheJobOrItsSuspensionIsRemembered) {
  Snapshot snapshot = running_job(R"(, "checkpoint": {"path": "mine", "claimName": "c"})");
  snapshot.job.uid = "uid";
  snapshot.job.checkpoint_request = "now";
  snapshot.progress->step.emplace().set_step(1);
  ASSERT_THAT(effects_of(decide_at(snapshot)), Contains("ask for a checkpoint uid/now"));
  snapshot.progress->answered_request = "uid/now";
  Snapshot suspended = snapshot;
  suspended.job.spec.set_suspend(true);
  EXPECT_EQ(decide_at(suspended).status.checkpoint_request(), "now");
  Snapshot ended = snapshot;
  ended.progress->result.emplace().set_result("Complete");
  EXPECT_EQ(decide_at(ended).status.checkpoint_request(), "now");
}

TEST(Decide, ARunningJobIsLeftInPeace) {
  const Snapshot snapshot = running_job();
  EXPECT_EQ(snapshot.job.status.state(), "Running");
  const Decision decision = decide_at(snapshot);
  EXPECT_THAT(effects_of(decision), IsEmpty());
  EXPECT_EQ(text_of(decision.status), text_of(snapshot.job.status));
  EXPECT_THAT(decision.notes, IsEmpty());
}

TEST(Decide, AJobOfAnotherControllerOrBeingDeletedIsNotTouched) {
  Snapshot snapshot = new_job(R"(, "managedBy": "kueue.x-k8s.io/multikueue")");
  EXPECT_THAT(effects_of(decide_at(snapshot)), IsEmpty());
  EXPECT_EQ(text_of(decide_at(snapshot).status), text_of(v1alpha1::JobStatus()));
  snapshot = running_job();
  snapshot.job.being_deleted = true;
  snapshot.pods.clear();
  EXPECT_THAT(effects_of(decide_at(snapshot)), IsEmpty());
}

TEST(Decide, AJobThatDoesNotFitHasNoPods) {
  kube::Json object = job_object();
  object.as_object()["spec"].as_object()["model"] = kube::JsonObject{{"preset", "llama3-70b"}};
  const Decision decision = decide_at({.job = read_job(object)});
  EXPECT_THAT(effects_of(decision), IsEmpty());
  EXPECT_EQ(condition(decision, conditions::kPlanned).reason(), reasons::kDoesNotFit);
  EXPECT_EQ(condition(decision, conditions::kPlanned).status(), "False");
}

TEST(Decide, ANewAuthorityOfTheReportServiceReachesThePlan) {
  const Snapshot snapshot = running_job();
  Settings of_a_new_leader = settings();
  of_a_new_leader.reports_authority = "another authority";
  const Decision decision = decide(snapshot, of_a_new_leader, kStart);
  EXPECT_THAT(effects_of(decision), ElementsAre("apply configmaps/train-plan"));
  EXPECT_THAT(told_when_done(decision), IsEmpty());
}

TEST(Decide, ANetworkPolicyLetsThroughWhatTheOperatorOfTodayNeeds) {
  Snapshot snapshot = running_job();
  Settings elsewhere = settings();
  elsewhere.reports_address = "caravan-operator.caravan-system.svc:9444";
  const Decision decision = decide(snapshot, elsewhere, kStart);
  EXPECT_THAT(effects_of(decision), Contains("apply networkpolicies/train"));
  snapshot.network_policy->written = "";  // of an operator that noted nothing
  const Decision once = decide_at(snapshot);
  ASSERT_THAT(effects_of(once), ElementsAre("apply networkpolicies/train"));
  const kube::Json& policy = std::get<ApplyChild>(once.effects.front()).object;
  EXPECT_EQ(kube::uid_of(policy), "policy");
  snapshot.network_policy->written = noted_content(policy);
  EXPECT_THAT(effects_of(decide_at(snapshot)), IsEmpty());
}

TEST(Decide, APlanThatSomebodyChangedIsWrittenAgainAndToldOf) {
  Snapshot snapshot = running_job();
  snapshot.plan->fingerprint = "of something else";
  const Decision decision = decide_at(snapshot);
  EXPECT_THAT(effects_of(decision), ElementsAre("apply configmaps/train-plan"));
  EXPECT_EQ(kube::text_at(*written_plan(decision), {"metadata", "uid"}), "plan");
  EXPECT_THAT(decision.notes, IsEmpty());
  EXPECT_THAT(told_when_done(decision), ElementsAre(reasons::kPlanRepaired));
}

TEST(Decide, APlanThatIsGoneIsMadeAgainFromTheStatusAsItWas) {
  Snapshot snapshot = running_job();
  const std::string before = snapshot.plan->fingerprint;
  snapshot.plan.reset();
  // On which nothing would fit.
  snapshot.nodes = shared({NodeView{.name = "new", .allocatable = {{"memory", 1}}}});
  const Decision decision = decide_at(snapshot);
  EXPECT_THAT(effects_of(decision), ElementsAre("create configmaps/train-plan"));
  EXPECT_EQ(fingerprint_of(*written_plan(decision)), before);
  EXPECT_THAT(told_when_done(decision), ElementsAre(reasons::kPlanRepaired));
}

TEST(Decide, APlanThatWasNeverMadeIsNoRepair) {
  const Snapshot first = new_job();
  Snapshot second = first;  // whose creations were lost
  second.job.status = decide_at(first).status;
  EXPECT_THAT(told_when_done(decide_at(first)), IsEmpty());
  EXPECT_THAT(told_when_done(decide_at(second)), IsEmpty());
}

TEST(Decide, TheLargestJobIsDecidedInLittleMemory) {
  constexpr int kNodes = 16384;
  const Decision decision = decide_at({.job = read_job(job_object_of(kNodes))});
  ASSERT_EQ(condition(decision, conditions::kPlanned).status(), "True")
      << condition(decision, conditions::kPlanned).message();
  const auto pods = std::count_if(decision.effects.begin(), decision.effects.end(), [](const Effect& effect) {
    return std::holds_alternative<CreatePod>(effect);
  });
  EXPECT_EQ(pods, kNodes);
  EXPECT_LE(decision.effects.size() - static_cast<std::size_t>(pods), 5U);
  EXPECT_LE(sizeof(Effect) * kNodes, std::size_t{4} << 20U) << "an effect for a pod holds nothing else";
  EXPECT_LE(decision.status.ByteSizeLong(), 4096U);
}

TEST(Decide, AJobOnTheNetworkOfNodesWaitsUntilAnAdministratorAllowsIt) {
  const Snapshot asks = new_job(R"(, "worker": {"hostNetwork": true})");
  const Decision refused = decide(asks, settings(), kStart);
  EXPECT_THAT(effects_of(refused), Not(Contains(HasSubstr("create pods/"))));
  const v1alpha1::Condition* scheduled = find_condition(refused.status, conditions::kScheduled);
  ASSERT_NE(scheduled, nullptr);
  EXPECT_EQ(scheduled->status(), "False");
  EXPECT_EQ(scheduled->reason(), reasons::kNotAllowed);
  EXPECT_THAT(scheduled->message(), HasSubstr("--allow-host-network"));
  Settings allows = settings();
  allows.allow_host_network = true;
  EXPECT_THAT(effects_of(decide(asks, allows, kStart)), Contains("create pods/train-0-a1"));
}

TEST(Decide, AnAdministratorWhoForbidsTheNetworkOfNodesStopsNoJobThatRuns) {
  const Snapshot runs = [] {
    Snapshot snapshot = running_job();
    snapshot.job.spec.mutable_worker()->set_host_network(true);
    return snapshot;
  }();
  const Decision decision = decide(runs, settings(), kStart);
  EXPECT_THAT(effects_of(decision), Not(Contains(HasSubstr("delete"))));
  EXPECT_TRUE(is_true(decision.status, conditions::kScheduled));
}

}  // namespace
}  // namespace caravan::controller::testing
