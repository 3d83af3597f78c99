#include "worker/agent/pinning.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "worker/agent/testing/scripted_job.h"

namespace caravan::agent {
namespace {

using ::testing::HasSubstr;

using Shares = std::vector<std::vector<int>>;

v1alpha1::JobPlan job_on(v1alpha1::Device::Kind kind, int nodes, int ranks, const std::string& cpu = "") {
  v1alpha1::JobPlan job = testing::scripted_job(nodes, ranks, 5);
  job.mutable_spec()->mutable_resources()->mutable_device()->set_kind(kind);
  job.mutable_spec()->mutable_worker()->mutable_resources()->set_cpu(cpu);
  return job;
}

TEST(Pinning, RanksShareOutTheProcessorsThatAreTheNodesAlone) {
  struct Case {
    const char* what;
    int nodes, ranks, node, threads;
    std::vector<int> processors;
    Shares shares;
  };
  const std::vector<Case> cases = {
      {"one each", 1, 2, 0, 1, {0, 4}, {{0}, {4}}},
      {"what is left over is shared too", 1, 2, 0, 2, {0, 4, 1, 5, 2}, {{0, 4}, {1, 5, 2}}},
      {"the last node has fewer ranks", 2, 3, 1, 2, {6, 7}, {{6, 7}}},
      {"fewer processors than threads", 1, 2, 0, 2, {0, 1, 2}, {}},
      {"nobody said which are its own", 1, 2, 0, 1, {}, {}},
  };
  for (const Case& one : cases) {
    SCOPED_TRACE(one.what);
    AgentOptions options;
    options.node = one.node;
    options.threads = one.threads;
    options.processors = one.processors;
    const auto job = job_on(v1alpha1::Device::CPU, one.nodes, one.ranks);
    EXPECT_EQ(processors_of_ranks(job, options, {0, 1, 2, 3, 4, 5, 6, 7}), one.shares);
  }
}

TEST(Pinning, APodOwnsItsProcessorsWhenItHasAsManyAsItAsksFor) {
  AgentOptions options;
  options.node = 0;
  options.in_pod = true;
  options.threads = 2;
  const auto shares = [&](const std::string& cpu, const std::vector<int>& allowed) {
    return processors_of_ranks(job_on(v1alpha1::Device::CPU, 1, 2, cpu), options, allowed);
  };
  EXPECT_EQ(shares("4", {8, 9, 10, 11}), (Shares{{8, 9}, {10, 11}}));
  EXPECT_EQ(shares("4", {0, 1, 2, 3, 4, 5, 6, 7}), Shares()) << "others run there too";
  EXPECT_EQ(shares("4", {0, 1, 2}), Shares());
  EXPECT_EQ(shares("", {8, 9, 10, 11}), Shares());
  EXPECT_EQ(shares("4000m", {8, 9, 10, 11}), (Shares{{8, 9}, {10, 11}}));
  EXPECT_EQ(shares("3500m", {8, 9, 10, 11}), Shares()) << "a kubelet gives whole ones alone";
}

TEST(Pinning, RanksWithAGpuStayFree) {
  AgentOptions options;
  options.node = 0;
  options.processors = {0, 1, 2, 3};
  EXPECT_EQ(processors_of_ranks(job_on(v1alpha1::Device::GPU, 1, 2), options, {0, 1, 2, 3}), Shares());
}

TEST(Pinning, APodWithFewerProcessorsThanThreadsSaysSo) {
  AgentOptions options;
  options.node = 0;
  options.threads = 2;
  const auto job = job_on(v1alpha1::Device::CPU, 1, 2, "4");
  EXPECT_EQ(shortage_of_processors(job, options, 3), "") << "who starts it by hand sees it";
  options.in_pod = true;
  EXPECT_THAT(shortage_of_processors(job, options, 3),
              HasSubstr("have 4 threads, and its limit or its machine leaves them 3 processors"));
  EXPECT_EQ(shortage_of_processors(job, options, 4), "");
  EXPECT_EQ(shortage_of_processors(job_on(v1alpha1::Device::GPU, 1, 2), options, 1), "");
}

}  // namespace
}  // namespace caravan::agent
