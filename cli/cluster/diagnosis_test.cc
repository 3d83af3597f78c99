#include "cli/cluster/diagnosis.h"

#include <gmock/gmock.h>

#include "cli/cluster/testing/jobs.h"

namespace caravan::cli {
namespace {

using ::testing::AllOf;
using testing::at;
using testing::condition;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using testing::job_in;
using testing::job_with;

ClusterFacts facts_of(controller::Job job, const std::string& now = "2026-01-01T01:00:00Z") {
  return {.job = {.job = std::move(job), .now = at(now)}};
}

auto finding(Gravity gravity, const std::string& what, const std::string& advice) {
  return AllOf(Field(&Finding::gravity, gravity), Field(&Finding::what, HasSubstr(what)),
               Field(&Finding::advice, HasSubstr(advice)));
}

controller::PodView waiting_pod(const std::string& name, const std::string& trouble) {
  return {.name = name, .trouble = trouble};
}

struct Case {
  const char* name;
  std::string conditions;
  Gravity gravity;
  std::string what;
  std::string advice;
};

class FromConditions : public ::testing::TestWithParam<Case> {};

TEST_P(FromConditions, NamesTheOneThingThatHoldsTheJobUp) {
  const Case& given = GetParam();
  EXPECT_THAT(diagnose(facts_of(job_in(given.conditions))),
              ElementsAre(finding(given.gravity, given.what, given.advice)));
}

INSTANTIATE_TEST_SUITE_P(
    Diagnosis, FromConditions,
    ::testing::Values(
        Case{"Complete", condition("Complete", "True", "StepsReached", "100 steps"), Gravity::kGood,
             "it is complete: StepsReached: 100 steps", ""},
        Case{"Failed", condition("Failed", "True", "MaxRestartsReached", "4 restarts"), Gravity::kProblem,
             "it failed: MaxRestartsReached",
             "`caravan logs tiny -n team` and `caravan events tiny -n team`"},
        Case{"Cancelled", condition("Failed", "True", "Cancelled", "as its user asked"), Gravity::kNotice,
             "it was cancelled: Cancelled: as its user asked", ""},
        Case{"Unseen", "", Gravity::kProblem, "no operator has looked at it",
             "kubectl -n caravan-system get pods"},
        Case{"Suspended", condition("Suspended", "True", "ByUser"), Gravity::kNotice, "it is suspended",
             "`caravan resume tiny -n team`"},
        Case{"TakenBack", condition("Suspended", "True", "ByQueue"), Gravity::kNotice,
             "its queue took the machines", "admits it again"},
        Case{"DoesNotFit", condition("Planned", "False", "DoesNotFit", "needs 4 more"), Gravity::kProblem,
             "there is no plan for it: DoesNotFit: needs 4 more", "caravan estimate"},
        Case{"Queued", condition("QuotaReserved", "False", "Pending", "place 3"), Gravity::kNotice,
             "its queue has not admitted it: Pending: place 3", "its turn comes"},
        Case{"NoQueue", condition("QuotaReserved", "False", "QueueMissing"), Gravity::kProblem,
             "QueueMissing", "kueue.x-k8s.io/queue-name"},
        Case{"QueueNotOurs",
             condition("QuotaReserved", "False", "KueueMissing",
                       "may not list the workloads; ask an administrator"),
             Gravity::kProblem, "KueueMissing: may not list the workloads; ask an administrator",
             "do as the message says"},
        Case{"NotAllowed", condition("Scheduled", "False", "NotAllowed", "host network"), Gravity::kProblem,
             "its pods wait: NotAllowed", "ask whoever runs the cluster"},
        Case{"SlowRendezvous", condition("Running", "False", "Rendezvous", "1 of 2 agents"),
             Gravity::kProblem, "its agents do not find each other: 1 of 2 agents",
             "`caravan logs tiny -n team --all`"},
        Case{"Stalled", condition("Stalled", "True", "NoStepWithinTimeout", "rank 3 waits"),
             Gravity::kProblem, "no step is made", "`caravan logs tiny -n team`"},
        Case{"CheckpointFailing", condition("CheckpointFailing", "True", "SaveFailed", "disk full"),
             Gravity::kProblem, "checkpoints fail: SaveFailed: disk full", "volume"}),
    [](const auto& info) { return info.param.name; });

TEST(Diagnosis, LeadsToTheJobInTheContextThatTheUserHasNamed) {
  ClusterFacts facts = facts_of(job_in(condition("Suspended", "True", "ByUser")));
  facts.context = "prod";
  EXPECT_THAT(diagnose(facts), ElementsAre(finding(Gravity::kNotice, "it is suspended",
                                                   "`caravan resume tiny -n team --context prod`")));
}

TEST(Diagnosis, OfANewJobWaitsForTheOperator) {
  EXPECT_THAT(diagnose(facts_of(job_in(""), "2026-01-01T00:00:05Z")),
              ElementsAre(finding(Gravity::kNotice, "it is new", "a few seconds")));
}

TEST(Diagnosis, TellsTheTroubleOfSeveralPodsOnceWithTheAdviceOfTheCluster) {
  ClusterFacts facts = facts_of(job_in(condition("Scheduled", "False", "WaitingForPods", "0 of 2 pods")));
  facts.job.pods = {waiting_pod("tiny-0-a1", "0/3 nodes: Insufficient cpu; free or add machines"),
                    waiting_pod("tiny-1-a1", "0/3 nodes: Insufficient cpu; free or add machines")};
  EXPECT_THAT(diagnose(facts),
              ElementsAre(finding(Gravity::kProblem, "pod tiny-0-a1 and 1 more: 0/3 nodes: Insufficient cpu",
                                  "free or add machines")));
}

TEST(Diagnosis, ComparesTheDevicesOfReadyNodesWithWhatTheJobNeeds) {
  ClusterFacts facts = facts_of(job_in(condition("Scheduled", "False", "WaitingForPods", "0 of 2 pods")));
  facts.nodes = {
      {{.name = "a", .labels = {{"nvidia.com/gpu.product", "H100"}}, .allocatable = {{"nvidia.com/gpu", 8}}},
       {.name = "b",
        .labels = {{"nvidia.com/gpu.product", "H100"}},
        .allocatable = {{"nvidia.com/gpu", 8}},
        .usable = false}}};
  EXPECT_THAT(
      diagnose(facts),
      ElementsAre(finding(Gravity::kProblem, "have 8 nvidia.com/gpu in pods of its size, and it needs 16",
                          "add nodes")));
}

TEST(Diagnosis, NamesTheQuotaThatIsUsedUp) {
  ClusterFacts facts = facts_of(job_in(condition("Scheduled", "False", "WaitingForPods",
                                                 "pods tiny-0-a1 is forbidden: exceeded quota: team")));
  facts.quotas = {{"team", "requests.nvidia.com/gpu", 8, 8}, {"team", "pods", 3, 100}};
  EXPECT_THAT(diagnose(facts),
              ElementsAre(finding(Gravity::kProblem, "quota team is used up: 8 requests.nvidia.com/gpu of 8",
                                  "more")));
}

TEST(Diagnosis, NamesTheQuotaThatHasTooLittleLeftForThePod) {
  ClusterFacts facts = facts_of(
      job_in(condition("Scheduled", "False", "WaitingForPods",
                       "pods tiny-0-a1 is forbidden: exceeded quota: team, requested: "
                       "pods=1,requests.nvidia.com/gpu=8, used: pods=3,requests.nvidia.com/gpu=4, limited: "
                       "pods=100,requests.nvidia.com/gpu=8")));
  facts.quotas = {{"team", "requests.nvidia.com/gpu", 4, 8},
                  {"team", "nvidia.com/gpu", 4, 8},
                  {"team", "requests.cpu", 3, 100},
                  {"te", "pods", 3, 100}};
  EXPECT_THAT(diagnose(facts), ElementsAre(finding(Gravity::kProblem,
                                                   "quota team has too little left: 4 "
                                                   "requests.nvidia.com/gpu of 8",
                                                   "more")));
}

TEST(Diagnosis, CountsNoDevicesOfNodesWhereAClaimBringsThem) {
  const std::string waits = condition("Scheduled", "False", "WaitingForPods", "0 of 2 pods");
  ClusterFacts facts =
      facts_of(job_with(fmt::format(R"({{"conditions": [{}]}})", waits),
                        R"(, "worker": {"resourceClaims": [{"name": "devices", "templateName": "gpus"}]})"));
  facts.nodes.emplace();
  EXPECT_THAT(diagnose(facts), ElementsAre(finding(Gravity::kNotice, "its pods wait: WaitingForPods", "")));
}

TEST(Diagnosis, FindsTheCauseOfASlowStartInTheEventsOfPods) {
  ClusterFacts facts = facts_of(job_in(condition("Scheduled", "False", "WaitingForPods", "1 of 2 pods")));
  facts.job.events = {{.is_warning = true,
                       .kind = "Pod",
                       .name = "tiny-1-a1",
                       .reason = "FailedMount",
                       .message = "timed out"},
                      {.reason = "Pulled", .message = "image"}};
  EXPECT_THAT(diagnose(facts), ElementsAre(finding(Gravity::kProblem, "pod tiny-1-a1: FailedMount: timed out",
                                                   "claim is bound")));
}

TEST(Diagnosis, OfAJobThatTrainsIsGoodAndNamesMachinesThatFailed) {
  const controller::Job job = job_in(
      condition("Scheduled", "True", "AllPodsBound") + "," + condition("Running", "True", "StepsAdvancing"),
      R"(, "progress": {"step": 40, "steps": 100, "percent": 40}, "failedMachines": [{"name": "bad", "failures": 2}])");
  EXPECT_THAT(diagnose(facts_of(job)),
              ElementsAre(finding(Gravity::kNotice, "2 attempts ended by node bad", "looked at"),
                          finding(Gravity::kGood, "it trains: step 40/100 (40 %)", "")));
}

TEST(Diagnosis, LeavesAJobOfAnotherControllerToIt) {
  const controller::Job job = job_with("{}", R"(, "managedBy": "kueue.x-k8s.io/multikueue")");
  EXPECT_THAT(diagnose(facts_of(job)),
              ElementsAre(finding(Gravity::kNotice, "kueue.x-k8s.io/multikueue", "")));
}

TEST(Quotas, AreReadFromTheirStatus) {
  const auto quota = kube::parse_json(
      R"({"metadata": {"name": "team"}, "status": {"hard": {"pods": "10", "requests.memory": "1Gi"},
          "used": {"pods": "10", "requests.memory": "512Mi"}}})",
      "quota");
  const std::vector<QuotaView> views = read_quota(*quota);
  ASSERT_EQ(views.size(), 2U);
  EXPECT_EQ(views[0].used, 10);
  EXPECT_EQ(views[1].hard, std::int64_t{1} << 30);
}

}  // namespace
}  // namespace caravan::cli
