// Several node pools in one cluster: which of them a job may use, which it is planned for, and what it is
// told.
#include "operator/view/pool_choice.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "common/json.h"
#include "common/testing/turn.h"
#include "operator/controller/planning_policy.h"
#include "operator/testing/jobs.h"
#include "operator/view/node_match.h"

namespace caravan::controller::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kA100[] = "NVIDIA-A100-SXM4-80GB";
constexpr char kB200[] = "NVIDIA-B200";
constexpr char kH100[] = "NVIDIA-H100-80GB-HBM3";
constexpr char kL4[] = "NVIDIA-L4";

std::vector<NodeView> nodes_of(const std::string& product, int nodes, int gpus = 8) {
  std::vector<NodeView> all;
  for (int i = 0; i < nodes; ++i)
    all.push_back(gpu_node(fmt::format("{}-{}-{}", product, gpus, i), product, gpus));
  return all;
}

std::vector<NodeView> together(std::initializer_list<std::vector<NodeView>> parts) {
  std::vector<NodeView> all;
  for (const auto& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

// "NVIDIA-L4 8x2": devices in all, by how many of a node.
std::vector<std::string> pools_of(const Job& job, const std::vector<NodeView>& nodes) {
  std::vector<std::string> lines;
  for (const DevicePool& pool : device_pools(job.spec, nodes))
    lines.push_back(fmt::format("{} {}x{}", pool.product, pool.devices, pool.devices_per_node));
  return lines;
}

TEST(DevicePools, AreToldApartByProductAndByHowManyDevicesANodeHas) {
  const auto nodes = together({nodes_of(kL4, 2, 1), nodes_of(kH100, 2), nodes_of(kH100, 1, 4)});
  EXPECT_THAT(pools_of(gpu_job("{}"), nodes),
              ElementsAre("NVIDIA-H100-80GB-HBM3 20x4", "NVIDIA-H100-80GB-HBM3 16x8", "NVIDIA-L4 2x1"));
}

TEST(DevicePools, AreThoseOfTheProductAndSizeThatTheJobNames) {
  const auto nodes = together({nodes_of(kL4, 2, 1), nodes_of(kH100, 2), nodes_of(kA100, 3, 4)});
  EXPECT_THAT(pools_of(gpu_job(R"({"product": "H100-80GB"})"), nodes),
              ElementsAre("NVIDIA-H100-80GB-HBM3 16x8"));
  Job by_four = gpu_job("{}");
  by_four.spec.mutable_resources()->set_devices_per_node(4);
  EXPECT_THAT(pools_of(by_four, nodes),
              ElementsAre("NVIDIA-H100-80GB-HBM3 16x4", "NVIDIA-A100-SXM4-80GB 12x4"));
  Job small = gpu_job("{}");  // fewer than one node has
  small.spec.mutable_resources()->set_devices(1);
  small.spec.mutable_resources()->set_devices_per_node(8);
  EXPECT_THAT(pools_of(small, nodes).back(), "NVIDIA-L4 2x1");
}

TEST(DevicePools, AreOfTheNodesThatTheJobWants) {
  auto nodes = together({nodes_of(kH100, 2), nodes_of(kA100, 1)});
  nodes[0].labels["zone"] = "a";
  nodes[1].labels["zone"] = "b";
  nodes[2].labels["zone"] = "a";
  nodes[2].usable = false;
  const auto in = [](const char* requirement) {
    return gpu_job("{}", "llama3-8b", fmt::format(R"(, "worker": {{"nodeAffinity": [{}]}})", requirement));
  };
  EXPECT_THAT(pools_of(in(R"({"key": "zone", "operator": "In", "values": ["a"]})"), nodes),
              ElementsAre("NVIDIA-H100-80GB-HBM3 8x8"));
  EXPECT_THAT(pools_of(in(R"({"key": "zone", "operator": "DoesNotExist"})"), nodes), ElementsAre());
}

TEST(NodeMatch, RequirementsMeanWhatTheyMeanToTheScheduler) {
  struct Case {
    const char* requirement;
    const char* label;  // value of "cores"; null: absent
    bool is_met;
  };
  for (const Case& each : {
           Case{R"({"key": "cores", "operator": "In", "values": ["64", "96"]})", "96", true},
           Case{R"({"key": "cores", "operator": "In", "values": ["64", "96"]})", "32", false},
           Case{R"({"key": "cores", "operator": "In", "values": ["64"]})", nullptr, false},
           Case{R"({"key": "cores", "operator": "NotIn", "values": ["64"]})", "64", false},
           Case{R"({"key": "cores", "operator": "NotIn", "values": ["64"]})", nullptr, true},
           Case{R"({"key": "cores", "operator": "Exists"})", "", true},
           Case{R"({"key": "cores", "operator": "Exists"})", nullptr, false},
           Case{R"({"key": "cores", "operator": "DoesNotExist"})", nullptr, true},
           Case{R"({"key": "cores", "operator": "DoesNotExist"})", "1", false},
           Case{R"({"key": "cores", "operator": "Gt", "values": ["63"]})", "64", true},
           Case{R"({"key": "cores", "operator": "Gt", "values": ["63"]})", "63", false},
           Case{R"({"key": "cores", "operator": "Gt", "values": ["63"]})", "many", false},
           Case{R"({"key": "cores", "operator": "Gt", "values": ["-1"]})", nullptr, false},
           Case{R"({"key": "cores", "operator": "Lt", "values": ["64"]})", "8", true},
           Case{R"({"key": "cores", "operator": "Lt", "values": ["64"]})", "64", false},
       }) {
    NodeView node{.name = "a"};
    if (each.label != nullptr) node.labels["cores"] = each.label;
    const Job asks = job(fmt::format(R"(, "worker": {{"nodeAffinity": [{}]}})", each.requirement));
    EXPECT_EQ(is_wanted(node, asks.spec.worker()), each.is_met)
        << each.requirement << " of " << (each.label == nullptr ? "no label" : each.label);
  }
}

PlanVerdict planned(const std::vector<NodeView>& nodes, const std::string& device = "{}",
                    const std::string& preset = "llama3-8b") {
  return judge_plan(gpu_job(device, preset), nodes);
}

TEST(PoolChoice, TheFastestPoolThatHoldsTheJobIsTakenAndTheOthersAreNamed) {
  const PlanVerdict verdict = planned(together({nodes_of(kA100, 4), nodes_of(kH100, 2)}));
  ASSERT_TRUE(verdict.plan) << verdict.message;
  EXPECT_EQ(verdict.plan->gpu_product(), kH100) << "although there are more of the others";
  EXPECT_THAT(verdict.message, HasSubstr("Of the node pools it takes NVIDIA-H100-80GB-HBM3 (8 a node): "));
  EXPECT_THAT(verdict.message, HasSubstr("Others: NVIDIA-A100-SXM4-80GB (8 a node): "));
  EXPECT_THAT(verdict.message, HasSubstr(" s a step."));
}

TEST(PoolChoice, APoolWithTooFewDevicesComesAfterOneThatHoldsTheJob) {
  const PlanVerdict verdict = planned(together({nodes_of(kA100, 2), nodes_of(kH100, 1)}));
  ASSERT_TRUE(verdict.plan) << verdict.message;
  EXPECT_EQ(verdict.plan->gpu_product(), kA100);
  EXPECT_THAT(verdict.message, HasSubstr("NVIDIA-H100-80GB-HBM3 (8 a node): 8 of 16 devices"));
}

TEST(PoolChoice, WhereNoneHoldsTheJobItIsTheOneWithMostDevices) {
  const PlanVerdict verdict = planned(together({nodes_of(kH100, 1, 4), nodes_of(kA100, 1)}));
  ASSERT_TRUE(verdict.plan) << verdict.message;
  EXPECT_EQ(verdict.plan->gpu_product(), kA100) << "nodes may come";
  EXPECT_THAT(verdict.message, HasSubstr("takes NVIDIA-A100-SXM4-80GB (8 a node): 8 of 16 devices, "));
}

// The plan's pods are smaller than the nodes then, so that the place cannot be told from the plan.
TEST(PoolChoice, OfAJobSmallerThanANodeThePlaceIsSaidByItsIndex) {
  Job small = gpu_job("{}");
  small.spec.mutable_resources()->set_devices(4);
  const auto places = survey_devices(small, together({nodes_of(kA100, 4), nodes_of(kH100, 2)})).places;
  ASSERT_EQ(places.size(), 2U);
  ASSERT_EQ(places[0].gpu_product, kA100) << "the larger one comes first";
  const auto chosen = choose_place(places);
  ASSERT_TRUE(chosen) << chosen.error().message;
  EXPECT_EQ(chosen->plan.devices_per_node(), 4);
  EXPECT_EQ(chosen->gpu_product, kH100);
  EXPECT_EQ(chosen->place, 1U);
}

TEST(PoolChoice, OfTwoPoolsOfOneProductThePlaceIsTheOneThatWasPlannedFor) {
  Job small = gpu_job("{}", "llama3.2-1b");
  small.spec.mutable_resources()->set_devices(4);
  const auto places = survey_devices(small, together({nodes_of(kH100, 1, 2), nodes_of(kH100, 3)})).places;
  ASSERT_EQ(places.size(), 2U);
  const auto chosen = choose_place(places);
  ASSERT_TRUE(chosen) << chosen.error().message;
  const int of_a_node = places[chosen->place].pool->devices_per_node;
  EXPECT_EQ(chosen->plan.devices_per_node(), std::min(4, of_a_node));
  EXPECT_THAT(chosen->why, HasSubstr(fmt::format("takes {} ({} a node)", kH100, of_a_node)));
}

TEST(PoolChoice, APoolOnWhichNoLayoutFitsIsLeftOutAndSaidSo) {
  CARAVAN_BY_TURNS();
  const PlanVerdict verdict =
      planned(together({nodes_of(kL4, 16, 1), nodes_of(kB200, 2)}), "{}", "llama2-70b");
  ASSERT_TRUE(verdict.plan) << verdict.message;
  EXPECT_EQ(verdict.plan->gpu_product(), kB200);
  EXPECT_THAT(verdict.message, HasSubstr("NVIDIA-L4 (1 a node): no layout fits"));
}

TEST(PoolChoice, WhereNoneFitsTheLargestSaysWhyAndTheOthersAreNamed) {
  CARAVAN_BY_TURNS();
  const PlanVerdict verdict =
      planned(together({nodes_of(kL4, 16, 1), nodes_of(kA100, 4)}), "{}", "llama3.1-405b");
  EXPECT_FALSE(verdict.plan);
  EXPECT_NE(verdict.course, Verdict::Course::kFails) << "other nodes may come";
  EXPECT_EQ(verdict.reason, reasons::kDoesNotFit);
  EXPECT_THAT(verdict.message, HasSubstr(". That is of the nodes with NVIDIA-A100-SXM4-80GB (8 a node); no "
                                         "other pool serves either: NVIDIA-L4 (1 a node)."));
}

// Pools of slow GPUs in nodes of every size, each with more of them than the job asks for.
std::vector<NodeView> eight_pools_of_l4() {
  std::vector<NodeView> nodes;
  for (int gpus = 1; gpus <= 8; ++gpus) {
    for (const NodeView& node : nodes_of(kL4, 3, gpus)) nodes.push_back(node);
  }
  return nodes;
}

TEST(PoolChoice, OfVeryManyPoolsThoseOfTheFastestProductsArePlannedFor) {
  const PlanVerdict verdict =
      planned(together({eight_pools_of_l4(), nodes_of(kH100, 2)}), "{}", "llama3.2-1b");
  ASSERT_TRUE(verdict.plan) << verdict.message;
  EXPECT_EQ(verdict.plan->gpu_product(), kH100) << "although all other pools are larger";
  EXPECT_THAT(verdict.message, HasSubstr(" and 3 more. 1 more pool was not looked at."));
}

TEST(PoolChoice, OfVeryManyPoolsOneThatHoldsTheJobComesBeforeFasterOnes) {
  std::vector<NodeView> nodes = nodes_of(kA100, 2);
  for (const char* product : {"NVIDIA-B200", "NVIDIA-B300", "NVIDIA-GB200", "NVIDIA-H200", "NVIDIA-H200-NVL",
                              "NVIDIA-H100-80GB-HBM3", "NVIDIA-H100-NVL", "NVIDIA-H100-PCIe"}) {
    for (const NodeView& node : nodes_of(product, 1)) nodes.push_back(node);
  }
  const PlanVerdict verdict = planned(nodes, "{}", "llama3.2-1b");
  ASSERT_TRUE(verdict.plan) << verdict.message;
  EXPECT_EQ(verdict.plan->gpu_product(), kA100);
}

TEST(PoolChoice, ARefusalSaysHowManyPoolsWereNotLookedAt) {
  const Job split_no_further = gpu_job("{}", "llama3-8b", R"(, "parallelism": {
      "tensor": 1, "pipeline": 1, "zeroStage": 0, "activationCheckpointing": "Never"})");
  const PlanVerdict verdict =
      judge_plan(split_no_further, together({eight_pools_of_l4(), nodes_of(kH100, 2)}));
  EXPECT_FALSE(verdict.plan);
  EXPECT_EQ(verdict.reason, reasons::kDoesNotFit);
  EXPECT_THAT(verdict.message, HasSubstr("; no other pool that was looked at serves either: "));
  EXPECT_THAT(verdict.message, HasSubstr(". 1 more pool was not looked at."));
}

TEST(PoolChoice, WhatIsWrongWithTheJobIsNoMatterOfPools) {
  const Job indivisible = gpu_job("{}", "llama3-8b", R"(, "parallelism": {"tensor": 16})");
  const auto places = survey_devices(indivisible, together({nodes_of(kA100, 4), nodes_of(kH100, 2)})).places;
  ASSERT_EQ(places.size(), 2U);
  const auto chosen = choose_place(places);
  ASSERT_FALSE(chosen);
  EXPECT_EQ(chosen.error().code, ExitCode::kBadInput);
  EXPECT_THAT(chosen.error().message, HasSubstr("kvHeads must be divisible by tensor"));
  EXPECT_THAT(chosen.error().message, Not(HasSubstr("pool")));
}

TEST(PoolChoice, OneIsNoChoice) {
  EXPECT_THAT(planned(nodes_of(kH100, 2)).message, Not(HasSubstr("pools")));
}

TEST(PoolChoice, TheSameNodesInAnyOrderGiveTheSamePlan) {
  CARAVAN_BY_TURNS();
  auto nodes = together({nodes_of(kA100, 3), nodes_of(kH100, 2), nodes_of(kH100, 1, 4), nodes_of(kL4, 9, 1)});
  const PlanVerdict first = planned(nodes);
  for (int turn = 0; turn < 4; ++turn) {
    std::rotate(nodes.begin(), nodes.begin() + 4, nodes.end());
    const PlanVerdict again = planned(nodes);
    EXPECT_EQ(again.document, first.document);
    EXPECT_EQ(again.message, first.message);
  }
}

TEST(PoolChoice, PoolsOfAmdGpusAreReadFromTheLabelsOfTheirVendor) {
  const std::vector<NodeView> nodes{amd_node("a", "AMD_Instinct_MI300X_OAM", 8),
                                    amd_node("b", "AMD_Instinct_MI300X_OAM", 8), gpu_node("c", kH100, 8)};
  const PlanVerdict verdict = planned(nodes, R"({"resourceName": "amd.com/gpu"})");
  ASSERT_TRUE(verdict.plan) << verdict.message;
  EXPECT_EQ(verdict.plan->gpu_product(), "AMD_Instinct_MI300X_OAM");
  EXPECT_EQ(verdict.plan->plan().device_product(), "MI300X");
  EXPECT_EQ(verdict.plan->nodes(), 2);
}

TEST(PoolChoice, AnAmdProductThatThePlannerDoesNotKnowHasTheMemoryOfItsLabel) {
  const std::vector<NodeView> nodes{amd_node("a", "AMD_Instinct_MI999", 8)};
  const DevicePool pool = device_pools(gpu_job(R"({"resourceName": "amd.com/gpu"})").spec, nodes).at(0);
  EXPECT_EQ(pool.memory_bytes, (std::int64_t{192} << 30) - (std::int64_t{1} << 29))
      << "192G is rounded to the nearest";
}

TEST(PoolChoice, AJobWithoutNodesOfItsVendorIsToldOfTheOther) {
  const std::vector<NodeView> nodes{amd_node("a", "AMD_Instinct_MI300X_OAM", 8)};
  const PlanVerdict verdict = planned(nodes);
  EXPECT_FALSE(verdict.plan);
  EXPECT_THAT(verdict.message, HasSubstr("no node that is ready offers nvidia.com/gpu; add such a node"));
  EXPECT_THAT(verdict.message, HasSubstr("nodes offer amd.com/gpu, which a job with "
                                         "spec.resources.device.resourceName: amd.com/gpu gets"));
}

TEST(PoolChoice, AProductOfAnotherVendorThanTheResourceIsToldAtOnce) {
  const std::vector<NodeView> nodes{amd_node("a", "AMD_Instinct_MI300X_OAM", 8),
                                    amd_node("b", "AMD_Instinct_MI300X_OAM", 8)};
  const PlanVerdict verdict = planned(nodes, R"({"product": "MI300X"})");
  EXPECT_EQ(verdict.course, Verdict::Course::kFails) << "no node that comes would help";
  EXPECT_EQ(verdict.reason, reasons::kInvalidSpec);
  EXPECT_THAT(verdict.message, HasSubstr("nodes offer MI300X as amd.com/gpu, not as nvidia.com/gpu"));
  const PlanVerdict renamed = planned({}, R"({"product": "MI300X", "resourceName": "example.com/gpu"})");
  EXPECT_TRUE(renamed.plan) << "by a plugin that nobody knows: " << renamed.message;
}

TEST(PoolChoice, DevicesThatAClaimBringsAreNotReadFromNodes) {
  const Job claims =
      gpu_job(R"({"product": "H100-80GB"})", "llama3-8b",
              R"(, "worker": {"resourceClaims": [{"name": "devices", "templateName": "gpus"}]})", 8);
  const PlanVerdict verdict = judge_plan(claims, nodes_of(kH100, 4));
  ASSERT_TRUE(verdict.plan) << verdict.message;
  EXPECT_EQ(verdict.plan->gpu_product(), "") << "the claim says which nodes have them";
}

}  // namespace
}  // namespace caravan::controller::testing
