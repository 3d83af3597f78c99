// Copies of the model in domains of the topology, where no queue arranges them.
#include "operator/controller/domain_policy.h"

#include <gmock/gmock.h>

#include "operator/api/conditions.h"
#include "operator/children/replica_groups.h"
#include "operator/controller/decide.h"
#include "operator/controller/domain_shortfall.h"
#include "operator/testing/decisions.h"
#include "operator/testing/jobs.h"
#include "operator/view/domain_survey.h"

namespace caravan::controller::testing {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

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
  snapshot.job.spec.mutable_resources()->set_devices(8);
  return snapshot;
}

constexpr std::int64_t kEightCores = 8000;

NodeView node(const std::string& name, const std::string& rack, std::int64_t cores = 8) {
  return {.name = name,
          .labels = {{"rack", rack}},
          .allocatable = {{"cpu", 1000 * cores}, {"ephemeral-storage", 1LL << 40}}};
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

DomainVerdict judged(const Snapshot& snapshot) {
  v1alpha1::JobPlan plan = kTwoCopies;
  *plan.mutable_spec() = snapshot.job.spec;
  return judge_domains(snapshot, plan, settings());
}

constexpr char kVersionSeen[] = "7";

PodView waiting_pod(int node, const std::string& rack) {
  PodView pod = running_pod(node);
  pod.version = kVersionSeen;
  pod.phase = PodPhase::kPending;
  pod.machine.clear();
  pod.domain = domain_name({{"rack", rack}});
  pod.created_at = kStart;
  return pod;
}

TEST(DomainPolicy, EachCopyGetsTheTightestDomainWithRoomForIt) {
  Snapshot snapshot = job_of_two_copies("Required");
  snapshot.nodes = shared({node("a", "large"), node("b", "large"), node("c", "large"), node("d", "small"),
                           node("e", "small"), node("f", "tiny")});
  EXPECT_EQ(racks(judged(snapshot)), "small large small large");
  EXPECT_THAT(judged(snapshot).message, IsEmpty());
  snapshot.taken["e"]["cpu"] = kEightCores;
  EXPECT_EQ(racks(judged(snapshot)), "large small large small")
      << "where it will fit when the other job ends";
  EXPECT_THAT(judged(snapshot).message, HasSubstr("1 of 2 copies"));
}

TEST(DomainPolicy, RequiredNeverStraddlesAndPreferredSaysThatItMay) {
  Snapshot snapshot = job_of_two_copies("Required");
  snapshot.nodes = shared({node("a", "r1"), node("b", "r1"), node("c", "r2"), node("d", "r3")});
  const DomainVerdict required = judged(snapshot);
  EXPECT_EQ(racks(required), "r1 r2 r1 r2") << "the second copy waits in one domain";
  EXPECT_FALSE(required.placement.domains_are_preferred);
  EXPECT_THAT(required.message, HasSubstr("no domain of rack has room for the 2 pods of 1 of 2 copies of the "
                                          "model, which wait for it"));
  snapshot.job = job_of_two_copies("Preferred").job;
  const DomainVerdict preferred = judged(snapshot);
  EXPECT_EQ(racks(preferred), "r1 - r1 -");
  EXPECT_TRUE(preferred.placement.domains_are_preferred);
  EXPECT_THAT(preferred.message, HasSubstr("which may stand in several"));
}

TEST(DomainPolicy, APodThatIsReplacedGoesToTheDomainOfItsCopy) {
  Snapshot snapshot = job_of_two_copies("Required");
  snapshot.nodes = shared({node("a", "r1"), node("b", "r1"), node("c", "r2"), node("d", "r2")});
  PodView living = running_pod(0);
  living.domain = domain_name({{"rack", "r2"}});
  ASSERT_TRUE(living.bound());
  snapshot.pods = {living};
  EXPECT_EQ(racks(judged(snapshot)), "r2 r1 r2 r1");
}

TEST(DomainPolicy, ACopyKeepsItsDomainAlsoWhereNoOtherMachineOfItTakesPods) {
  for (const bool is_tainted : {false, true}) {
    Snapshot snapshot = job_of_two_copies("Required");
    std::vector<NodeView> nodes{node("a", "r1"), node("b", "r1"), node("c", "r2"), node("d", "r2")};
    for (const std::size_t closed : {2U, 3U}) {
      nodes[closed].usable = is_tainted;
      if (is_tainted) nodes[closed].taints = {Taint{.key = "repair", .effect = "NoSchedule"}};
    }
    snapshot.nodes = shared(nodes);
    PodView living = running_pod(0);
    living.domain = domain_name({{"rack", "r2"}});
    snapshot.pods = {living};
    EXPECT_EQ(racks(judged(snapshot)), "r2 r1 r2 r1");
  }
}

// One copy of two nodes, each of which has a machine for itself.
Snapshot job_of_one_copy() {
  return new_job(R"(, "parallelism": {"mode": "Manual", "tensor": 2, "pipeline": 2, "data": 1},
      "worker": {"resources": {"cpu": "8"}},
      "scheduling": {"topology": {"mode": "Required", "key": "rack"}})");
}

void issue_certificates(Snapshot& snapshot) {
  snapshot.job.status.mutable_certificates()->set_set(kCertificates);
  snapshot.job.status.mutable_certificates()->set_issue_time(to_text(kStart));
}

// The names of the pods that are to ask for another domain, and none that has got a machine meanwhile.
std::vector<std::string> strays(const DomainVerdict& verdict) {
  std::vector<std::string> names;
  for (const Effect& effect : verdict.effects) {
    const auto& pod = std::get<DeletePod>(effect);
    EXPECT_EQ(pod.version, kVersionSeen);
    names.push_back(pod.name);
  }
  return names;
}

TEST(DomainPolicy, WhoWaitsInAFullDomainGoesToOneThatHasRoomSooner) {
  Snapshot snapshot = job_of_two_copies("Required");
  snapshot.nodes = shared(
      {node("a", "r1"), node("b", "r1"), node("c", "r2"), node("d", "r2"), node("e", "r3"), node("f", "r3")});
  for (const char* full : {"a", "c", "e"}) snapshot.taken[full]["cpu"] = kEightCores;
  ASSERT_EQ(racks(judged(snapshot)), "r1 r2 r1 r2");
  for (int index = 0; index < 4; ++index)
    snapshot.pods.push_back(waiting_pod(index, index % 2 == 0 ? "r1" : "r2"));
  EXPECT_THAT(strays(judged(snapshot)), IsEmpty());
  snapshot.taken.erase("e");
  EXPECT_EQ(racks(judged(snapshot)), "r3 r2 r3 r2");
  EXPECT_THAT(strays(judged(snapshot)), ElementsAre("train-0-a1", "train-2-a1"));
  snapshot.taken.erase("a");
  EXPECT_EQ(racks(judged(snapshot)), "r1 r3 r1 r3") << "room where it asks already comes first";
  EXPECT_THAT(strays(judged(snapshot)), ElementsAre("train-1-a1", "train-3-a1"));
  snapshot.taken["e"]["cpu"] = snapshot.taken["a"]["cpu"] = kEightCores;
  snapshot.taken.erase("c");
  EXPECT_THAT(strays(judged(snapshot)), IsEmpty()) << "the room is that of the copy that asks for it";
  snapshot.taken["c"]["cpu"] = kEightCores;
  snapshot.taken.erase("e");
  snapshot.pods[0].machine = "a";
  snapshot.pods[1].machine = "gone with its rack";
  snapshot.pods[1].domain = snapshot.pods[3].domain = domain_name({{"rack", "r4"}});
  EXPECT_THAT(strays(judged(snapshot)), IsEmpty()) << "one of each copy is bound";
}

TEST(DomainPolicy, WherePodsOfOtherJobsWaitNoOthersAreSentButThoseThatAreThereStay) {
  Snapshot snapshot = job_of_two_copies("Required");
  snapshot.nodes = shared({node("a", "r1"), node("b", "r1"), node("c", "r2"), node("d", "r2"),
                           node("e", "r3"), node("f", "r3"), node("g", "r3")});
  ASSERT_EQ(racks(judged(snapshot)), "r1 r2 r1 r2");
  snapshot.asked_of_domains[domain_name({{"rack", "r1"}})] = {{"cpu", 12000}};
  EXPECT_EQ(racks(judged(snapshot)), "r2 r3 r2 r3") << "they need a machine and a half";
  snapshot.pods = {waiting_pod(0, "r1"), waiting_pod(2, "r1")};
  EXPECT_EQ(racks(judged(snapshot)), "r1 r2 r1 r2");
  EXPECT_THAT(strays(judged(snapshot)), IsEmpty());
}

// A pod that is to go there may get its machine first, and stay.
TEST(DomainPolicy, PodsOfACopyAreMadeForAnotherDomainOnceNoneIsLeftInTheOldOne) {
  Snapshot snapshot = job_of_one_copy();
  snapshot.nodes = shared({node("a", "r1"), node("b", "r1"), node("c", "r2"), node("d", "r2")});
  for (const char* full : {"a", "b"}) snapshot.taken[full]["cpu"] = kEightCores;
  snapshot.pods = {waiting_pod(0, "r1")};
  issue_certificates(snapshot);
  EXPECT_THAT(effects_of(decide_at(snapshot)),
              AllOf(Contains("delete train-0-a1"), Not(Contains("create pods/train-1-a1"))));
  snapshot.pods.clear();
  EXPECT_THAT(effects_of(decide_at(snapshot)),
              AllOf(Contains("create pods/train-0-a1"), Contains("create pods/train-1-a1")));
}

TEST(DomainPolicy, WhatTheNewPodsOfOneJobAskForIsLeftToThemByTheNext) {
  Snapshot snapshot = job_of_one_copy();
  snapshot.nodes = shared({node("a", "r1"), node("b", "r1"), node("c", "r2"), node("d", "r2")});
  const auto racks_asked = [&] {
    std::vector<std::string> racks;
    const Decision decision = decide_at(snapshot);
    for (const auto& [domain, asked] : asked_by_new_pods(snapshot.job, decision, settings())) {
      EXPECT_EQ(amount_of(asked, "cpu"), 2 * kEightCores);
      racks.push_back(domain);
    }
    return racks;
  };
  const std::string first = domain_name({{"rack", "r1"}});
  const std::string second = domain_name({{"rack", "r2"}});
  EXPECT_THAT(racks_asked(), ElementsAre(first));
  snapshot.asked_of_domains[first] = {{"cpu", 2 * kEightCores}};
  EXPECT_THAT(racks_asked(), ElementsAre(second));
  snapshot.pods = {waiting_pod(0, "r2"), waiting_pod(1, "r2")};
  issue_certificates(snapshot);
  EXPECT_THAT(racks_asked(), IsEmpty()) << "these say so themselves";
}

// Their pods may wait for a claim that nobody makes.
TEST(DomainPolicy, RoomThatPodsOfOtherJobsWaitForIsTakenWhereThereIsNoOther) {
  Snapshot snapshot = job_of_two_copies("Required");
  snapshot.nodes = shared({node("a", "r1"), node("b", "r1"), node("c", "r2"), node("d", "r2")});
  for (const char* rack : {"r1", "r2"})
    snapshot.asked_of_domains[domain_name({{"rack", rack}})] = {{"cpu", 2 * kEightCores}};
  EXPECT_EQ(racks(judged(snapshot)), "r1 r2 r1 r2");
  EXPECT_THAT(judged(snapshot).message, IsEmpty());
}

// However long they wait: cluster autoscalers look at them.
TEST(DomainPolicy, PodsThatFindNoMachineStayWhereThereIsRoomForThem) {
  Snapshot snapshot = job_of_two_copies("Required");
  snapshot.nodes = shared(
      {node("a", "r1"), node("b", "r1"), node("c", "r2"), node("d", "r2"), node("e", "r3"), node("f", "r3")});
  snapshot.pods = {waiting_pod(0, "r1"), waiting_pod(2, "r1")};
  for (const auto provider : {v1alpha1::Gang::None, v1alpha1::Gang::Volcano}) {
    v1alpha1::Scheduling& scheduling = *snapshot.job.spec.mutable_scheduling();
    scheduling.mutable_gang()->set_provider(provider);
    scheduling.mutable_gang()->set_timeout_seconds(1);
    for (PodView& pod : snapshot.pods) pod.created_at = kStart - 24h;
    EXPECT_EQ(racks(judged(snapshot)), "r1 r2 r1 r2");
    EXPECT_THAT(strays(judged(snapshot)), IsEmpty());
    EXPECT_EQ(judged(snapshot).look_again, std::nullopt);
  }
}

TEST(DomainPolicy, AGangThatHasSomeOfItsMachinesGivesThemBackAndTriesElsewhereThen) {
  Snapshot snapshot = job_of_two_copies("Required");
  snapshot.nodes = shared(
      {node("a", "r1"), node("b", "r1"), node("c", "r2"), node("d", "r2"), node("e", "r3"), node("f", "r3")});
  snapshot.pods = {waiting_pod(0, "r1"), running_pod(1), waiting_pod(2, "r1"), running_pod(3)};
  snapshot.pods[1].domain = snapshot.pods[3].domain = domain_name({{"rack", "r2"}});
  EXPECT_THAT(strays(judged(snapshot)), IsEmpty());
  snapshot.pods.clear();
  snapshot.job.status.mutable_gang()->set_given_back(1);
  EXPECT_EQ(racks(judged(snapshot)), "r2 r3 r2 r3");
  *snapshot.job.spec.mutable_scheduling()->mutable_topology() =
      job_of_two_copies("Preferred").job.spec.scheduling().topology();
  EXPECT_EQ(racks(judged(snapshot)), "r1 r2 r1 r2") << "these may stand elsewhere anyway";
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
  NodeView closed = node("a", "r1");
  closed.usable = false;
  snapshot.nodes = shared(
      {closed, node("b", "r1"), node("c", "r2", 4), node("d", "r2", 4), node("e", "r3"), node("f", "r3")});
  EXPECT_EQ(racks(judged(snapshot)), "r3 - r3 -") << "r2 has small nodes, r1 one too few";
}

// "r1=1 r2=2": how many pods each rack has room for.
std::string rooms(const Job& job, const std::vector<NodeView>& nodes, const Demand& of_a_pod) {
  std::string text;
  for (const Domain& domain : survey_domains(job, {.of_a_pod = of_a_pod}, nodes, {})) {
    if (!text.empty()) text += " ";
    text += fmt::format("{}={}", domain.node_labels.at("rack"), domain.room);
  }
  return text;
}

TEST(DomainPolicy, TaintedMachinesHaveRoomForWhoToleratesThem) {
  const auto room = [](const std::string& tolerations, const Taint& taint) {
    const Job asks = job(fmt::format(R"(, "worker": {{"tolerations": [{}]}},
        "scheduling": {{"topology": {{"mode": "Required", "key": "rack"}}}})",
                                     tolerations));
    NodeView tainted = node("a", "r1");
    tainted.taints = {taint};
    return rooms(asks, {tainted}, {{"cpu", kEightCores}});
  };
  const Taint repair{.key = "repair", .value = "fan", .effect = "NoExecute"};
  EXPECT_EQ(room("", repair), "r1=0");
  for (const char* other :
       {R"({"key": "repair", "value": "disk"})", R"({"key": "other", "operator": "Exists"})",
        R"({"key": "repair", "value": "fan", "effect": "NoSchedule"})"})
    EXPECT_EQ(room(other, repair), "r1=0") << other;
  for (const char* own : {R"({"key": "repair", "value": "fan"})",
                          R"({"key": "repair", "operator": "Exists"})", R"({"operator": "Exists"})",
                          R"({"key": "repair", "operator": "Equal", "value": "fan", "effect": "NoExecute"})"})
    EXPECT_EQ(room(own, repair), "r1=1") << own;
  EXPECT_EQ(room("", {.key = "cpu", .effect = "NoSchedule"}), "r1=1")
      << "by a resource that its pods ask for";
}

// As a RuntimeClass or a webhook does.
TEST(DomainPolicy, WhereOnlyTaintedMachinesHaveRoomSomebodyElseMayAddTolerations) {
  Snapshot snapshot = job_of_two_copies("Required");
  std::vector<NodeView> nodes{node("a", "r1"), node("b", "r2"), node("c", "r2"), node("d", "r3"),
                              node("e", "r3")};
  for (std::size_t i = 1; i < nodes.size(); ++i)
    nodes[i].taints = {Taint{.key = "training", .effect = "NoSchedule"}};
  snapshot.nodes = shared(nodes);
  EXPECT_EQ(racks(judged(snapshot)), "r2 r3 r2 r3");
  EXPECT_THAT(judged(snapshot).message, IsEmpty());
  nodes[1].usable = false;
  snapshot.nodes = shared(nodes);
  EXPECT_THAT(judged(snapshot).message, HasSubstr("1 of 2 copies")) << "a cordon holds for all";
  nodes[1].usable = true;
  nodes[1].taints.clear();
  nodes[2].taints.clear();
  snapshot.nodes = shared(nodes);
  EXPECT_THAT(judged(snapshot).message, HasSubstr("1 of 2 copies")) << "r2 would do without";
}

TEST(DomainPolicy, OnTheNetworkOfNodesAMachineTakesOnePod) {
  Job asks = job(R"(, "scheduling": {"topology": {"mode": "Required", "key": "rack"}})");
  const std::vector<NodeView> nodes = {node("a", "r1", 16), node("b", "r1", 4)};
  EXPECT_EQ(rooms(asks, nodes, {{"cpu", kEightCores}}), "r1=2");
  asks.spec.mutable_worker()->set_host_network(true);
  EXPECT_EQ(rooms(asks, nodes, {{"cpu", kEightCores}}), "r1=1");
}

TEST(DomainPolicy, WhatANodeOffersIsReadWithWhatKeepsPodsOff) {
  const NodeView read = read_node(kube::parse_json(R"({"metadata": {"name": "a", "labels": {"rack": "r1"}},
      "spec": {"taints": [{"key": "k", "value": "v", "effect": "NoSchedule"}, {"key": "p", "effect": "PreferNoSchedule"}]},
      "status": {"allocatable": {"cpu": "7910m", "memory": "1Gi"}, "conditions": [{"type": "Ready", "status": "True"}]}})",
                                                   "node")
                                      .value());
  EXPECT_EQ(read.allocatable, (Demand{{"cpu", 7910}, {"memory", 1LL << 30}}));
  EXPECT_THAT(read.taints, ElementsAre(Taint{.key = "k", .value = "v", .effect = "NoSchedule"}));
}

TEST(DomainPolicy, PartsOfCoresCountExactly) {
  const Job asks = job(R"(, "scheduling": {"topology": {"mode": "Required", "key": "rack"}})");
  const NodeView offers = read_node(kube::parse_json(R"({"metadata": {"name": "a", "labels": {"rack": "r1"}},
      "status": {"allocatable": {"cpu": "7910m"}, "conditions": [{"type": "Ready", "status": "True"}]}})",
                                                     "node")
                                        .value());
  const auto room = [&](const char* cpu) {
    const std::string pod = fmt::format(
        R"({{"spec": {{"containers": [{{"resources": {{"requests": {{"cpu": "{}"}}}}}}]}}}})", cpu);
    return rooms(asks, {offers}, read_demand(kube::parse_json(pod, "pod").value()));
  };
  for (const char* fits : {"7900m", "7910m", "7.9", "7", "5e0"}) EXPECT_EQ(room(fits), "r1=1") << fits;
  for (const char* too_large : {"7911m", "8", "7.911", "1k"}) EXPECT_EQ(room(too_large), "r1=0") << too_large;
  for (const char* half : {"3955m", "3.955"}) EXPECT_EQ(room(half), "r1=2") << half;
}

TEST(DomainPolicy, MachinesThatSufficeForMillionsOfPodsHaveRoomForThem) {
  const Job asks = job(R"(, "scheduling": {"topology": {"mode": "Required", "key": "rack"}})");
  const std::vector<NodeView> nodes(5000, node("a", "r1"));  // with 1 TiB of scratch each
  const std::vector<Domain> domains =
      survey_domains(asks, {.of_a_pod = {{"ephemeral-storage", 1024}}}, nodes, {});
  ASSERT_EQ(domains.size(), 1U);
  EXPECT_GT(domains[0].room, 1'000'000);
  EXPECT_EQ(domains[0].capacity, domains[0].room);
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
  EXPECT_TRUE(judged(snapshot).placement.domain_of_node.empty());
  EXPECT_EQ(judged(snapshot).course, Verdict::Course::kGoesOn);
}

}  // namespace
}  // namespace caravan::controller::testing
