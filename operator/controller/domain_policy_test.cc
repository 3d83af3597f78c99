// Copies of the model in domains of the topology, where no queue arranges them.
#include "operator/controller/domain_policy.h"

#include <gmock/gmock.h>

#include "operator/api/conditions.h"
#include "operator/children/replica_groups.h"
#include "operator/controller/decide.h"
#include "operator/testing/jobs.h"
#include "operator/view/domain_survey.h"

namespace caravan::controller::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

v1alpha1::JobPlan plan_of(int tensor, int data, int pipeline, int per_node) {
  v1alpha1::JobPlan plan;
  plan.mutable_plan()->set_tensor(tensor);
  plan.mutable_plan()->set_data(data);
  plan.mutable_plan()->set_pipeline(pipeline);
  plan.mutable_plan()->set_devices(tensor * data * pipeline);
  plan.set_nodes((tensor * data * pipeline + per_node - 1) / per_node);
  return plan;
}

TEST(ReplicaGroups, HoldTheNodesOfOneCopyOfTheModel) {
  struct Case {
    int tensor, data, pipeline, per_node;
    std::vector<std::vector<int>> groups;
  };
  for (const Case& c : {Case{8, 2, 2, 8, {{0, 2}, {1, 3}}},
                        {8, 4, 1, 8, {{0}, {1}, {2}, {3}}},
                        {8, 1, 4, 8, {{0, 1, 2, 3}}},
                        {4, 4, 2, 8, {{0, 2}, {1, 3}}},
                        {2, 1, 2, 4, {{0}}},
                        {16, 2, 1, 8, {{0, 1}, {2, 3}}}}) {
    const ReplicaGroups replicas = replica_groups(plan_of(c.tensor, c.data, c.pipeline, c.per_node));
    EXPECT_EQ(replicas.groups, c.groups) << c.tensor << " " << c.data << " " << c.pipeline;
    EXPECT_EQ(replicas.slice_size(), static_cast<int>(c.groups.front().size()));
  }
  EXPECT_THAT(replica_groups(plan_of(8, 2, 2, 8)).index_of_node, ElementsAre(0, 2, 1, 3));
}

// Two copies of two nodes each.
Snapshot job_of_two_copies(const std::string& mode) {
  Snapshot snapshot{.job = job(fmt::format(
                        R"(, "worker": {{"resources": {{"cpu": "8"}}}},
         "scheduling": {{"topology": {{"mode": "{}", "key": "rack"}}}})",
                        mode))};
  return snapshot;
}

NodeView node(const std::string& name, const std::string& rack, std::int64_t cores = 8) {
  return {.name = name,
          .labels = {{"rack", rack}},
          .allocatable = {{"cpu", cores}, {"ephemeral-storage", 1LL << 40}}};
}

// "r1 r2 r1 -": the rack of each node of the job.
std::string racks(const DomainVerdict& verdict) {
  std::string text;
  for (const int domain : verdict.placement.domain_of_node) {
    if (!text.empty()) text += " ";
    text += domain < 0 ? "-" : verdict.placement.domains[static_cast<std::size_t>(domain)].at("rack");
  }
  return text;
}

const v1alpha1::JobPlan kTwoCopies = plan_of(2, 2, 2, 2);  // nodes 0 and 2, 1 and 3

DomainVerdict judge(const Snapshot& snapshot) {
  v1alpha1::JobPlan plan = kTwoCopies;
  *plan.mutable_spec() = snapshot.job.spec;
  return judge_domains(snapshot, plan, settings());
}

TEST(DomainPolicy, EachCopyGetsTheTightestDomainWithRoomForIt) {
  Snapshot snapshot = job_of_two_copies("Required");
  snapshot.nodes = {node("a", "large"), node("b", "large"), node("c", "large"),
                    node("d", "small"), node("e", "small"), node("f", "tiny")};
  EXPECT_EQ(racks(judge(snapshot)), "small large small large");
  EXPECT_THAT(judge(snapshot).message, IsEmpty());
  snapshot.taken["e"]["cpu"] = 8;
  EXPECT_EQ(racks(judge(snapshot)), "large small large small") << "where it will fit when the other job ends";
  EXPECT_THAT(judge(snapshot).message, HasSubstr("1 of 2 copies"));
}

TEST(DomainPolicy, RequiredNeverStraddlesAndPreferredSaysThatItMay) {
  Snapshot snapshot = job_of_two_copies("Required");
  snapshot.nodes = {node("a", "r1"), node("b", "r1"), node("c", "r2"), node("d", "r3")};
  const DomainVerdict required = judge(snapshot);
  EXPECT_EQ(racks(required), "r1 r2 r1 r2") << "the second copy waits in one domain";
  EXPECT_FALSE(required.placement.domains_are_preferred);
  EXPECT_THAT(required.message, HasSubstr("no domain of rack has room for the 2 pods of 1 of 2 copies of the "
                                          "model, which wait for it"));
  snapshot.job = job_of_two_copies("Preferred").job;
  const DomainVerdict preferred = judge(snapshot);
  EXPECT_EQ(racks(preferred), "r1 - r1 -");
  EXPECT_TRUE(preferred.placement.domains_are_preferred);
  EXPECT_THAT(preferred.message, HasSubstr("which may stand in several"));
}

TEST(DomainPolicy, APodThatIsReplacedGoesToTheDomainOfItsCopy) {
  Snapshot snapshot = job_of_two_copies("Required");
  snapshot.nodes = {node("a", "r1"), node("b", "r1"), node("c", "r2"), node("d", "r2")};
  PodView living = running_pod(0);
  living.domain = domain_name({{"rack", "r2"}});
  ASSERT_TRUE(living.bound());
  snapshot.pods = {living};
  EXPECT_EQ(racks(judge(snapshot)), "r2 r1 r2 r1");
}

// The names of the pods that are to ask for another domain.
std::vector<std::string> strays(const DomainVerdict& verdict) {
  std::vector<std::string> names;
  for (const Effect& effect : verdict.effects) names.push_back(std::get<DeletePod>(effect).name);
  return names;
}

TEST(DomainPolicy, WhoWaitsInAFullDomainGoesToOneThatHasRoomSooner) {
  Snapshot snapshot = job_of_two_copies("Required");
  snapshot.nodes = {node("a", "r1"), node("b", "r1"), node("c", "r2"),
                    node("d", "r2"), node("e", "r3"), node("f", "r3")};
  for (const char* full : {"a", "c", "e"}) snapshot.taken[full]["cpu"] = 8;
  ASSERT_EQ(racks(judge(snapshot)), "r1 r2 r1 r2");
  for (int index = 0; index < 4; ++index) {
    PodView pod = running_pod(index);
    pod.phase = PodPhase::kPending;
    pod.machine.clear();
    pod.domain = domain_name({{"rack", index % 2 == 0 ? "r1" : "r2"}});
    snapshot.pods.push_back(pod);
  }
  EXPECT_THAT(strays(judge(snapshot)), IsEmpty());
  snapshot.taken.erase("e");
  EXPECT_EQ(racks(judge(snapshot)), "r3 r2 r3 r2");
  EXPECT_THAT(strays(judge(snapshot)), ElementsAre("train-0-a1", "train-2-a1"));
  snapshot.taken.erase("a");
  EXPECT_EQ(racks(judge(snapshot)), "r1 r3 r1 r3") << "room where it asks already comes first";
  EXPECT_THAT(strays(judge(snapshot)), ElementsAre("train-1-a1", "train-3-a1"));
  snapshot.taken["e"]["cpu"] = snapshot.taken["a"]["cpu"] = 8;
  snapshot.taken.erase("c");
  EXPECT_THAT(strays(judge(snapshot)), IsEmpty()) << "the room is that of the copy that asks for it";
  snapshot.taken["c"]["cpu"] = 8;
  snapshot.taken.erase("e");
  snapshot.pods[0].machine = "a";
  snapshot.pods[1].machine = "gone with its rack";
  snapshot.pods[1].domain = snapshot.pods[3].domain = domain_name({{"rack", "r4"}});
  EXPECT_THAT(strays(judge(snapshot)), IsEmpty()) << "one of each copy is bound";
}

TEST(DomainPolicy, WithoutALabelRequiredMakesNoPodAndPreferredMakesThemAnywhere) {
  const std::string more = R"(, "parallelism": {"mode": "Manual", "tensor": 2, "pipeline": 2, "data": 1})";
  for (const char* mode : {"Required", "Preferred"}) {
    Snapshot snapshot{
        .job = job(more +
                   fmt::format(R"(, "scheduling": {{"topology": {{"mode": "{}", "key": "rack"}}}})", mode))};
    const Decision decision = decide(snapshot, settings(), kStart);
    const bool is_made = std::ranges::any_of(
        decision.effects, [](const Effect& effect) { return std::holds_alternative<CreatePod>(effect); });
    EXPECT_EQ(is_made, std::string(mode) == "Preferred");
    const v1alpha1::Condition* scheduled = find_condition(decision.status, conditions::kScheduled);
    ASSERT_NE(scheduled, nullptr);
    EXPECT_THAT(scheduled->message(), HasSubstr("has the label rack (scheduling.topology.key)"));
    EXPECT_EQ(scheduled->reason() == reasons::kNoDomain, !is_made);
  }
}

TEST(DomainPolicy, MachinesThatTheJobCannotHaveDoNotCount) {
  Snapshot snapshot = job_of_two_copies("Preferred");
  snapshot.nodes = {node("a", "r1"),    node("b", "r1"), node("c", "r2", 4),
                    node("d", "r2", 4), node("e", "r3"), node("f", "r3")};
  snapshot.nodes[0].usable = false;
  EXPECT_EQ(racks(judge(snapshot)), "r3 - r3 -") << "r2 has small nodes, r1 one too few";
}

TEST(DomainPolicy, WhereNoNodeToldOfTheProductThoseOfOthersDoNotCount) {
  const Job named = gpu_job(R"({"product": "H100-80GB"})", "llama3-8b",
                            R"(, "scheduling": {"topology": {"mode": "Required", "key": "rack"}})");
  std::vector<NodeView> nodes = {gpu_node("a", "NVIDIA-A100-SXM4-40GB", 8),
                                 gpu_node("b", "NVIDIA-H100-80GB-HBM3", 8), gpu_node("c", "", 8)};
  nodes[2].labels.erase(labels::kNvidiaProduct);
  for (NodeView& node : nodes) node.labels["rack"] = "of-" + node.name;
  std::vector<std::string> racks;
  for (const Domain& domain : survey_domains(named, {.of_a_pod = {{"nvidia.com/gpu", 8}}}, nodes, {}))
    racks.push_back(domain.node_labels.at("rack"));
  EXPECT_THAT(racks, ElementsAre("of-b", "of-c"));
}

Snapshot placed_job(const std::string& mode, const std::vector<std::string>& machines) {
  Snapshot snapshot{
      .job = job(fmt::format(R"(, "parallelism": {{"mode": "Manual", "tensor": 2, "pipeline": 2, "data": 1}},
                                "scheduling": {{"topology": {{"mode": "{}", "key": "rack"}}}})",
                             mode))};
  for (std::size_t node = 0; node < machines.size(); ++node) {
    snapshot.pods.push_back(running_pod(static_cast<int>(node)));
    snapshot.pods.back().machine = machines[node];
  }
  return snapshot;
}

TEST(DomainPolicy, OncePodsHaveMachinesNothingIsChosenAndNothingMissed) {
  const Decision decision = decide(placed_job("Required", {"a", "b"}), settings(), kStart);
  const v1alpha1::Condition* scheduled = find_condition(decision.status, conditions::kScheduled);
  ASSERT_NE(scheduled, nullptr);
  EXPECT_EQ(scheduled->status(), "True") << scheduled->message();
}

TEST(DomainPolicy, HowManyDevicesANodeHasThePlanKnows) {
  Snapshot snapshot = placed_job("Required", {"a", "b"});
  snapshot.job.spec.mutable_resources()->clear_devices_per_node();
  EXPECT_TRUE(needs_domains(snapshot)) << "before it has a plan";
  snapshot.job.status.mutable_plan()->set_document(R"({"plan": {"devicesPerNode": 2}})");
  EXPECT_FALSE(needs_domains(snapshot)) << "it reads all pods of the cluster";
  snapshot.pods.pop_back();
  EXPECT_TRUE(needs_domains(snapshot));
  snapshot.job.spec.set_suspend(true);
  EXPECT_FALSE(needs_domains(snapshot)) << "no pod is made";
}

TEST(DomainPolicy, ACopyThatStandsInSeveralDomainsIsToldAsLongAsItDoes) {
  for (const char* more : {"", "lq"}) {
    Snapshot snapshot = placed_job("Preferred", {"a", "b"});
    v1alpha1::JobPlan plan = plan_of(2, 1, 2, 2);
    if (*more != '\0') snapshot.job.labels["kueue.x-k8s.io/queue-name"] = more;
    snapshot.domain_of_machine = {{"a", "r1"}, {"b", "r1"}};
    EXPECT_THAT(say_what_stands_apart(snapshot, plan), IsEmpty());
    snapshot.domain_of_machine["b"] = "r2";
    EXPECT_EQ(say_what_stands_apart(snapshot, plan),
              "1 of 1 copies of the model stand in several domains of rack (topology.mode Preferred)");
    snapshot.domain_of_machine["b"] = "";
    EXPECT_THAT(say_what_stands_apart(snapshot, plan), IsEmpty()) << "nobody knows where it stands";
  }
  Snapshot snapshot = placed_job("Preferred", {"a", "b"});
  snapshot.domain_of_machine = {{"a", "r1"}, {"b", "r2"}};
  const Decision decision = decide(snapshot, settings(), kStart);
  EXPECT_THAT(find_condition(decision.status, conditions::kScheduled)->message(),
              HasSubstr("1 of 1 copies of the model stand in several domains of rack"));
}

TEST(DomainPolicy, KueueArrangesItItself) {
  Snapshot snapshot = job_of_two_copies("Required");
  snapshot.job.labels["kueue.x-k8s.io/queue-name"] = "lq";
  EXPECT_TRUE(judge(snapshot).placement.domain_of_node.empty());
  EXPECT_EQ(judge(snapshot).course, Verdict::Course::kGoesOn);
}

}  // namespace
}  // namespace caravan::controller::testing
