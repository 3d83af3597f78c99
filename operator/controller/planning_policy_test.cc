#include "operator/controller/planning_policy.h"

#include <gmock/gmock.h>

#include "common/json.h"
#include "operator/testing/jobs.h"
#include "operator/view/device_survey.h"

namespace caravan::controller::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(PlanningPolicy, CheckpointsOutlivePodsOnAClaimOnly) {
  const PlanVerdict own_files = judge_plan(job(R"(, "checkpoint": {"path": "mine"})"), {});
  EXPECT_EQ(own_files.course, Verdict::Course::kFails);
  EXPECT_EQ(own_files.reason, reasons::kInvalidSpec);
  EXPECT_THAT(own_files.message, HasSubstr("spec.checkpoint.claimName: must be set on a cluster"));
  EXPECT_TRUE(judge_plan(job(R"(, "checkpoint": {"path": "mine", "claimName": "c"})"), {}).plan);
}

TEST(PlanningPolicy, WeightsReachPodsOnAClaimOnly) {
  Job without = job();
  without.spec.mutable_model()->mutable_init_from()->set_path("llama");
  const PlanVerdict verdict = judge_plan(without, {});
  EXPECT_EQ(verdict.course, Verdict::Course::kFails);
  EXPECT_EQ(verdict.reason, reasons::kInvalidSpec);
  EXPECT_THAT(verdict.message, HasSubstr("spec.model.initFrom.claimName: must be set on a cluster"));
  without.spec.mutable_model()->mutable_init_from()->set_claim_name("models");
  EXPECT_TRUE(judge_plan(without, {}).plan);
}

TEST(PlanningPolicy, WhatThisVersionCannotDoIsSaidAndNotIgnored) {
  constexpr const char* kSharded = R"(, "parallelism": {"zeroStage": 3})";
  const PlanVerdict sharded = judge_plan(job(kSharded), {});
  EXPECT_FALSE(sharded.plan);
  EXPECT_NE(sharded.course, Verdict::Course::kFails) << "a later operator may take it";
  EXPECT_EQ(sharded.reason, reasons::kInvalidSpec);
  EXPECT_THAT(sharded.message,
              HasSubstr("spec.parallelism.zeroStage: 3 is not available yet in this version"));
  const PlanVerdict queued = judge_plan(job(R"(, "scheduling": {"queue": "gold"})"), {});
  EXPECT_FALSE(queued.plan);
  EXPECT_NE(queued.course, Verdict::Course::kFails) << "it may be changed while suspended";
  EXPECT_THAT(queued.message,
              HasSubstr("spec.scheduling.queue: a queue needs gang.provider Kueue or Volcano"));
  Job planned = job(R"(, "scheduling": {"queue": "gold"})");
  planned.status.mutable_plan()->set_document(judge_plan(job(), {}).document);
  const PlanVerdict goes_on = judge_plan(planned, {});
  EXPECT_TRUE(goes_on.plan) << "by an operator that could";
  EXPECT_THAT(goes_on.message, HasSubstr("a queue needs gang.provider"));
  EXPECT_THAT(judge_plan(job(), {}).message,
              HasSubstr("the weights are not kept, and a restart begins at the first step"));
  EXPECT_TRUE(judge_plan(job(R"(, "scheduling": {"gang": {}})"), {}).plan) << "None is the default";
}

TEST(PlanningPolicy, AShapeThatStandsInAClaimOnlyIsAskedFor) {
  Job job = read_job(job_object());
  job.spec.mutable_model()->clear_preset();
  job.spec.mutable_model()->mutable_init_from()->set_claim_name("models");
  job.spec.mutable_model()->mutable_init_from()->set_path("llama");
  const PlanVerdict verdict = judge_plan(job, {});
  EXPECT_EQ(verdict.reason, reasons::kInvalidSpec);
  EXPECT_THAT(verdict.message, HasSubstr("set preset or architecture too"));
}

// It would wait for ever for nodes of which none can help.
TEST(PlanningPolicy, WhatNoNodesWouldMendFailsTheJobThatLeavesItsDevicesToThem) {
  Job shapeless = gpu_job("{}");
  shapeless.spec.mutable_model()->clear_preset();
  shapeless.spec.mutable_model()->mutable_init_from()->set_claim_name("models");
  shapeless.spec.mutable_model()->mutable_init_from()->set_path("llama");
  Job indivisible = gpu_job("{}");
  indivisible.spec.mutable_parallelism()->set_tensor(16);
  const std::vector<NodeView> some{gpu_node("a", "NVIDIA-H100-80GB-HBM3", 8),
                                   gpu_node("b", "NVIDIA-H100-80GB-HBM3", 8)};
  for (const auto& [job, says] : {std::pair{shapeless, "set preset or architecture too"},
                                  std::pair{indivisible, "kvHeads must be divisible by tensor"}}) {
    for (const std::vector<NodeView>& nodes : {std::vector<NodeView>{}, some}) {
      const PlanVerdict verdict = judge_plan(job, nodes);
      EXPECT_EQ(verdict.course, Verdict::Course::kFails) << says;
      EXPECT_EQ(verdict.reason, reasons::kInvalidSpec);
      EXPECT_THAT(verdict.message, HasSubstr(says));
    }
  }
}

TEST(PlanningPolicy, DevicesComeFromTheNodesThatHaveMost) {
  std::vector<NodeView> nodes{gpu_node("a", "NVIDIA-A100-SXM4-40GB", 8),
                              gpu_node("b", "NVIDIA-H100-80GB-HBM3", 8),
                              gpu_node("c", "NVIDIA-H100-80GB-HBM3", 8)};
  const std::vector<DevicePool> found = device_pools(gpu_job("{}").spec, nodes);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].product, "NVIDIA-H100-80GB-HBM3");
  EXPECT_EQ(found[0].devices_per_node, 8);
  EXPECT_EQ(found[0].devices, 16);
  const PlanVerdict verdict = judge_plan(gpu_job("{}"), nodes);
  ASSERT_TRUE(verdict.plan) << verdict.message;
  EXPECT_EQ(verdict.plan->nodes(), 2);
  EXPECT_EQ(verdict.plan->spec().data().path(), "/data/train.bin");
  nodes[1].usable = nodes[2].usable = false;
  EXPECT_EQ(device_pools(gpu_job("{}").spec, nodes).at(0).product, "NVIDIA-A100-SXM4-40GB");
}

TEST(PlanningPolicy, ClaimsAreTheFoldersThatPodsMount) {
  Job job = gpu_job("{}");
  job.spec.mutable_checkpoint()->set_claim_name("states");
  job.spec.mutable_checkpoint()->set_path("runs/tiny");
  job.spec.mutable_model()->mutable_init_from()->set_claim_name("models");
  job.spec.mutable_model()->mutable_init_from()->set_path("llama3-8b");
  job.spec.mutable_data()->set_validation_path("held-out.bin");
  const PlanVerdict verdict =
      judge_plan(job, std::vector<NodeView>{gpu_node("a", "NVIDIA-H100-80GB-HBM3", 8),
                                            gpu_node("b", "NVIDIA-H100-80GB-HBM3", 8)});
  ASSERT_TRUE(verdict.plan) << verdict.message;
  EXPECT_EQ(verdict.plan->spec().checkpoint().claim_name(), "");
  EXPECT_EQ(verdict.plan->spec().checkpoint().path(), "/checkpoints/runs/tiny");
  EXPECT_EQ(verdict.plan->spec().model().init_from().claim_name(), "");
  EXPECT_EQ(verdict.plan->spec().model().init_from().path(), "/weights/llama3-8b");
  EXPECT_EQ(verdict.plan->spec().data().validation_path(), "/data/held-out.bin");
}

TEST(PlanningPolicy, TheProductThatANodeSaysIsInThePlanWhoeverNamedIt) {
  const std::vector<NodeView> nodes{gpu_node("a", "NVIDIA-A100-SXM4-40GB", 8),
                                    gpu_node("b", "NVIDIA-A100-SXM4-40GB", 8),
                                    gpu_node("c", "NVIDIA-H100-80GB-HBM3", 8)};
  const auto bound_to = [](const std::string& device, const std::vector<NodeView>& by) {
    const PlanVerdict verdict = judge_plan(gpu_job(device), by);
    return verdict.plan ? verdict.plan->gpu_product() : verdict.message;
  };
  EXPECT_EQ(bound_to("{}", nodes), "NVIDIA-A100-SXM4-40GB");
  EXPECT_EQ(bound_to(R"({"product": "H100-80GB"})", nodes), "NVIDIA-H100-80GB-HBM3");
  EXPECT_EQ(bound_to(R"({"product": "H100-80GB"})", {}), "") << "no node says what it has";
  EXPECT_EQ(bound_to(R"({"memory": "80Gi"})", nodes), "") << "any product will do";
}

TEST(PlanningPolicy, TheProductOfAPlanThatWasMadeStands) {
  for (const char* device : {"{}", R"({"product": "H100-80GB"})"}) {
    Job made = gpu_job(device);
    const PlanVerdict first = judge_plan(made, {gpu_node("a", "NVIDIA-H100-80GB-HBM3", 8)});
    ASSERT_TRUE(first.plan) << first.message;
    EXPECT_EQ(first.plan->gpu_product(), "NVIDIA-H100-80GB-HBM3");
    EXPECT_FALSE(first.plan->spec().resources().device().product().empty());
    made.status.mutable_plan()->set_document(first.document);
    const PlanVerdict later = judge_plan(made, {gpu_node("b", "NVIDIA-A100-SXM4-40GB", 8)});
    ASSERT_TRUE(later.plan) << later.message;
    EXPECT_EQ(to_json(*later.plan), to_json(*first.plan));
  }
}

// Two ranks a pod, on processors. What a pod may take can change while the job is suspended.
TEST(PlanningPolicy, RanksOnProcessorsHaveTheirPartOfWhatTheirPodsHaveToday) {
  const auto asking = [](const char* memory) {
    Job asks = job(fmt::format(R"(, "worker": {{"resources": {{"memory": "{}"}}}})", memory));
    asks.spec.mutable_resources()->mutable_device()->clear_memory();
    return asks;
  };
  const PlanVerdict made = judge_plan(asking("4Gi"), {});
  ASSERT_TRUE(made.plan) << made.message;
  const auto later = [&](Job changed) {
    changed.status.mutable_plan()->set_document(made.document);
    return judge_plan(changed, {});
  };
  const PlanVerdict more = later(asking("16Gi"));
  ASSERT_TRUE(more.plan) << more.message;
  EXPECT_EQ(more.plan->plan().usable_bytes(), judge_plan(asking("16Gi"), {}).plan->plan().usable_bytes());
  EXPECT_GT(more.plan->plan().usable_bytes(), made.plan->plan().usable_bytes());
  EXPECT_THAT(more.message, Not(HasSubstr("worker.resources.memory")));
  const PlanVerdict less = later(asking("16Mi"));
  ASSERT_TRUE(less.plan) << less.message;
  EXPECT_GT(less.plan->plan().usable_bytes(), 0) << "which would be no limit";
  EXPECT_THAT(less.message, HasSubstr("raise spec.worker.resources.memory while the job is suspended."));
  EXPECT_EQ(less.document, made.document) << "the layout stands";
  Job described = asking("16Gi");
  described.spec.mutable_resources()->mutable_device()->set_memory("2Gi");
  EXPECT_EQ(later(described).plan->plan().usable_bytes(), made.plan->plan().usable_bytes());
}

TEST(PlanningPolicy, WhatNodesHaveMayBeTooLittleForTheBoundOfNodes) {
  Job job = gpu_job("{}");
  job.spec.mutable_resources()->set_devices(32768);
  job.spec.mutable_training()->set_global_batch_sequences(32768);
  const PlanVerdict verdict = judge_plan(job, {gpu_node("a", "NVIDIA-H100-80GB-HBM3", 1)});
  EXPECT_FALSE(verdict.plan);
  EXPECT_NE(verdict.course, Verdict::Course::kFails) << "larger nodes may come";
  EXPECT_THAT(verdict.message,
              HasSubstr("a job may have at most 16384 nodes; devices is 32768, devicesPerNode is 1"));
}

TEST(PlanningPolicy, WhatDoesNotFitSaysWhyAndWhetherTheClusterCanHelp) {
  const PlanVerdict no_nodes = judge_plan(gpu_job("{}"), {});
  EXPECT_EQ(no_nodes.reason, reasons::kDoesNotFit);
  EXPECT_NE(no_nodes.course, Verdict::Course::kFails);
  EXPECT_THAT(no_nodes.message, HasSubstr("no node that is ready offers nvidia.com/gpu"));
  const PlanVerdict too_large = judge_plan(gpu_job(R"({"product": "H100-80GB"})", "llama3.1-405b"), {});
  EXPECT_EQ(too_large.reason, reasons::kDoesNotFit);
  EXPECT_THAT(too_large.message, HasSubstr("devices"));
}

}  // namespace
}  // namespace caravan::controller::testing
