// The largest job: Llama 3.1 405B on 1,024 nodes of 8 GPUs is planned, and ranks of it start without the
// others and without memory. What each holds is what the plan says of its stage, to the byte.
#include "worker/trainer/loop/dry_run.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "common/json.h"
#include "common/schema/field_rules.h"
#include "common/testing/checkout.h"
#include "common/testing/shell.h"
#include "common/testing/temporary_folder.h"
#include "planner/engine_profile.h"
#include "planner/memory/memory_model.h"
#include "planner/memory/terms_message.h"
#include "planner/plan.h"
#include "planner/report.h"
#include "planner/request.h"
#include "tests/numerics/trainer_world.h"
#include "tests/support/tiny_job.h"
#include "worker/trainer/loop/rank_config.h"

namespace caravan::numerics {
namespace {

using planner::Layout;
using planner::MemoryTerms;

constexpr int kNodes = 1024;
constexpr int kDevicesPerNode = 8;
constexpr int kRanks = kNodes * kDevicesPerNode;

v1alpha1::JobSpec spec_of_405b(const std::string& token_file) {
  v1alpha1::JobSpec spec;
  spec.mutable_model()->set_preset("llama3.1-405b");
  spec.mutable_data()->set_path(token_file);
  spec.mutable_training()->set_steps(1000);
  spec.mutable_training()->set_sequence_length(8192);
  spec.mutable_training()->set_global_batch_sequences(2048);
  spec.mutable_resources()->set_devices(kRanks);
  spec.mutable_resources()->set_devices_per_node(kDevicesPerNode);
  spec.mutable_resources()->mutable_device()->set_product("H100-80GB");
  spec.mutable_checkpoint()->set_path("/no/checkpoints");
  schema::apply_defaults(spec);
  return spec;
}

class DryRun : public testing::Test {
 protected:
  DryRun()
      : spec_(spec_of_405b(corpus_.files().path("corpus/genesis.bin"))),
        profile_(planner::default_engine_profile()),
        request_(planner::read_request(spec_, {}).value()),
        plan_(planner::plan_job(spec_, {}, profile_).value().plan()),
        layout_(planner::layout_value(plan_)) {}

  // Of the first, the last, and some of each stage.
  std::set<int> some_ranks() const {
    std::mt19937 random(405);
    std::set<int> ranks = {0, kRanks - 1};
    for (int stage = 0; stage < layout_.mesh.pipeline; ++stage) {
      const auto any = [&](int size) { return std::uniform_int_distribution(0, size - 1)(random); };
      ranks.insert(planner::rank_at(
          {.tensor = any(layout_.mesh.tensor), .data = any(layout_.mesh.data), .pipeline = stage},
          layout_.mesh));
    }
    return ranks;
  }

  MemoryTerms started(int rank) const {
    const auto options = trainer::parse_rank_config(to_json(rank_config(spec_, layout_, rank)));
    EXPECT_TRUE(options) << options.error().message;
    const auto held = trainer::dry_run(*options);
    EXPECT_TRUE(held) << held.error().message;
    return held.value_or(MemoryTerms());
  }

  const test::JobFolder corpus_;
  const v1alpha1::JobSpec spec_;
  const planner::EngineProfile profile_;
  const planner::PlanRequest request_;
  const v1alpha1::Plan plan_;
  const Layout layout_;
};

TEST_F(DryRun, OfAnyRankHoldsWhatThePlanSaysOfItsStage) {
  ASSERT_EQ(layout_.mesh.ranks(), kRanks);
  ASSERT_GT(layout_.mesh.pipeline, 2) << "stages with embedding, with head and with neither";
  for (const int rank : some_ranks()) {
    const int stage = planner::position_of(rank, layout_.mesh).pipeline;
    SCOPED_TRACE(fmt::format("rank {}, stage {}", rank, stage));
    const MemoryTerms planned = planner::terms_value(plan_.memory_per_stage(stage));
    const MemoryTerms held = started(rank);
    EXPECT_GT(held.parameters, int64_t{1} << 30);
    EXPECT_EQ(held.parameters, planned.parameters);
    EXPECT_EQ(held.gradients, planned.gradients);
    EXPECT_EQ(held.optimizer, planned.optimizer);
    EXPECT_EQ(held.snapshot, planner::snapshot_bytes(request_, layout_, stage, profile_));
    EXPECT_GT(held.workspace, 0) << "the table of positions";
    EXPECT_LE(held.workspace, planned.workspace);
    EXPECT_EQ(held.activations, 0);
    EXPECT_EQ(held.logits, 0);
    EXPECT_EQ(held.communication, 0);
  }
}

// As somebody would by hand.
TEST_F(DryRun, OfTheProgramReportsTheSame) {
  const test::TemporaryFolder folder;
  const int rank = kRanks / 2;
  const std::string config = folder.write("rank.json", to_json(rank_config(spec_, layout_, rank)));
  const test::Outcome outcome = test::run_shell(
      fmt::format("CARAVAN_COMM=fake '{}/caravan-trainer' --config '{}'", test::program_folder(), config));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const auto report = from_json<v1alpha1::RankReport>(outcome.out);
  ASSERT_TRUE(report) << outcome.out;
  const MemoryTerms held = started(rank);
  EXPECT_EQ(report->finished().peak_terms().parameters(), held.parameters);
  EXPECT_EQ(report->finished().peak_terms().optimizer(), held.optimizer);
}

}  // namespace
}  // namespace caravan::numerics
