// Real trainer processes that go on from checkpoints: the loss curve is that of a training that nothing
// interrupted, to the bit in the same layout, and the weights are what `transformers` loads.
#include "checkpoint/folder/checkpoint.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <sstream>

#include "checkpoint/folder/commit.h"
#include "checkpoint/format/names.h"
#include "common/testing/checkout.h"
#include "common/testing/shell.h"
#include "data/testing/token_files.h"
#include "tests/numerics/compared_training.h"
#include "tests/support/tiny_job.h"

namespace caravan::numerics {
namespace {

namespace fs = std::filesystem;
using planner::Layout;
using planner::ScheduleKind;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

constexpr int kSteps = 6;
constexpr int kEvery = 2;

class Checkpoints : public testing::Test {
 protected:
  static void SetUpTestSuite() { corpus_ = std::make_unique<test::JobFolder>(); }
  static void TearDownTestSuite() { corpus_.reset(); }

  // Weights in bf16, so that master copies are saved too.
  v1alpha1::JobSpec spec(const std::string& folder, bool tied = false) const {
    v1alpha1::JobSpec spec = tiny_spec(corpus_->files().path("corpus/genesis.bin"));
    spec.mutable_model()->mutable_architecture()->set_tied_embeddings(tied);
    spec.mutable_training()->set_steps(kSteps);
    spec.mutable_training()->set_precision(v1alpha1::Precision::BF16);
    spec.mutable_training()->mutable_optimizer()->set_learning_rate("1e-2");
    spec.mutable_training()->mutable_optimizer()->set_gradient_clip_norm("2.2");  // the second step is
    spec.mutable_checkpoint()->set_path(files_.path(folder));
    spec.mutable_checkpoint()->set_every_steps(kEvery);
    return spec;
  }

  std::string step(const std::string& folder, int step) const {
    return files_.path(folder) + "/" + checkpoint::step_folder(step);
  }

  void copy_step(const std::string& from, int step, const std::string& to) const {
    fs::create_directories(files_.path(to));
    fs::copy(this->step(from, step), this->step(to, step), fs::copy_options::recursive);
  }

  // But for the record of who wrote them.
  std::vector<std::string> names(const std::string& folder) const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(files_.path(folder)))
      if (const std::string name = entry.path().filename(); !checkpoint::owner_named(name))
        names.push_back(name);
    std::sort(names.begin(), names.end());
    return names;
  }

  void flip_a_bit(const std::string& path, std::streamoff at) const {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(at);
    const int byte = file.get();
    file.seekp(at);
    file.put(static_cast<char>(byte ^ 1));
    ASSERT_TRUE(file.good()) << path;
  }

  // With the layout of `expected`, to the bit.
  void expect_same_files(const std::string& actual, const std::string& expected) const {
    for (const auto& entry : fs::directory_iterator(expected)) {
      const std::string name = entry.path().filename();
      if (name == checkpoint::kManifestFile) continue;
      EXPECT_TRUE(test::contents(fs::path(actual) / name) == test::contents(entry.path())) << name;
    }
  }

  const test::TemporaryFolder files_;

 private:
  static inline std::unique_ptr<test::JobFolder> corpus_;
};

std::string log_of(const std::vector<RankResult>& ranks) {
  std::string log;
  for (const RankResult& rank : ranks) log += rank.log;
  return log;
}

std::vector<int> step_numbers(const RankResult& rank) {
  std::vector<int> numbers;
  for (const auto& step : steps_of(rank)) numbers.push_back(step.step());
  return numbers;
}

std::vector<std::string> operations_of(const v1alpha1::StepReport& step) {
  std::vector<std::string> operations;
  for (const v1alpha1::CollectiveCount& each : step.collectives()) operations.push_back(each.operation());
  return operations;
}

struct Pair {
  std::string name;
  Layout from;
  Layout to = {};
  bool tied = false;
  bool bf16_moments = false;
};

void PrintTo(const Pair& pair, std::ostream* out) {
  *out << pair.name;
}

Layout uneven() {
  Layout layout = layout_of(1, 2, 1);
  layout.layers_per_stage = {1, 3};
  return layout;
}

Layout whole_states() {
  Layout layout = layout_of(1, 1, 2);
  layout.zero_stage = 0;
  return layout;
}

class SameLayout : public Checkpoints, public testing::WithParamInterface<Pair> {};

TEST_P(SameLayout, GoesOnToTheBit) {
  const Pair& pair = GetParam();
  v1alpha1::JobSpec job = spec("whole", pair.tied);
  if (pair.bf16_moments)
    job.mutable_training()->mutable_optimizer()->set_state_type(v1alpha1::Precision::BF16);
  const std::vector<double> whole = losses(train(job, pair.from));
  ASSERT_EQ(whole.size(), static_cast<std::size_t>(kSteps));
  EXPECT_THAT(names("whole"), ElementsAre("step-000002", "step-000004", "step-000006"));

  copy_step("whole", 4, "cut");
  job.mutable_checkpoint()->set_path(files_.path("cut"));
  const auto ranks = train(job, pair.from, {.attempt = 2});
  EXPECT_THAT(step_numbers(ranks[0]), ElementsAre(5, 6)) << log_of(ranks);
  EXPECT_THAT(losses(ranks), ElementsAre(whole[4], whole[5]));
  for (const RankResult& rank : ranks)
    EXPECT_THAT(operations_of(steps_of(rank).front()), Not(Contains("broadcast"))) << "of the restore";
  expect_same_files(step("cut", 6), step("whole", 6));
}

INSTANTIATE_TEST_SUITE_P(
    Layouts, SameLayout,
    testing::Values(Pair{.name = "OneRank", .from = layout_of(1, 1, 1)},
                    Pair{.name = "Data2", .from = layout_of(1, 1, 2)},
                    Pair{.name = "Data2WithoutSharding", .from = whole_states()},
                    Pair{.name = "Tensor2Data2Bf16Moments", .from = layout_of(2, 1, 2), .bf16_moments = true},
                    Pair{.name = "VZeroBubble", .from = layout_of(1, 2, 1, ScheduleKind::VZeroBubble)},
                    Pair{.name = "Tensor2Pipeline2Tied", .from = layout_of(2, 2, 1), .tied = true}),
    [](const auto& info) { return info.param.name; });

class OtherLayout : public Checkpoints, public testing::WithParamInterface<Pair> {};

// In fp64, where layouts agree to ten digits.
TEST_P(OtherLayout, GoesOnAsIfItHadAlwaysBeenIt) {
  const Pair& pair = GetParam();
  const std::vector<double> whole =
      losses(train(spec("whole", pair.tied), pair.from, {.double_precision = true}));
  ASSERT_EQ(whole.size(), static_cast<std::size_t>(kSteps));
  copy_step("whole", 4, "cut");
  const auto ranks = train(spec("cut", pair.tied), pair.to, {.attempt = 2, .double_precision = true});
  EXPECT_THAT(step_numbers(ranks[0]), ElementsAre(5, 6)) << log_of(ranks);
  const std::vector<double> rest = losses(ranks);
  ASSERT_EQ(rest.size(), 2u);
  EXPECT_NEAR(rest[0], whole[4], 1e-10 * whole[4]);
  EXPECT_NEAR(rest[1], whole[5], 1e-9 * whole[5]);
}

INSTANTIATE_TEST_SUITE_P(
    Pairs, OtherLayout,
    testing::Values(Pair{"OneRankToTensor2Pipeline2", layout_of(1, 1, 1), layout_of(2, 2, 1)},
                    Pair{"Data2ToUnevenTied", layout_of(1, 1, 2), uneven(), true},
                    Pair{"Tensor2Pipeline2TiedToData2", layout_of(2, 2, 1), whole_states(), true},
                    Pair{"VHalfToData4", layout_of(1, 2, 1, ScheduleKind::VHalf), layout_of(1, 1, 4)}),
    [](const auto& info) { return info.param.name; });

TEST_F(Checkpoints, TheNewestIntactOneIsTakenAndADamagedOneIsSetAside) {
  const Layout layout = layout_of(1, 1, 2);
  const std::vector<double> whole = losses(train(spec("all"), layout));
  flip_a_bit(step("all", 6) + "/second-moment.safetensors", 5000);
  const auto ranks = train(spec("all"), layout, {.attempt = 2});
  EXPECT_THAT(step_numbers(ranks[0]), ElementsAre(5, 6));
  EXPECT_THAT(losses(ranks), ElementsAre(whole[4], whole[5]));
  EXPECT_THAT(log_of(ranks), HasSubstr("step-000006/second-moment.safetensors: bytes 0 to"));
  EXPECT_THAT(names("all"),
              ElementsAre("step-000002", "step-000004", "step-000006", "step-000006.damaged-2"));
}

TEST_F(Checkpoints, AreKeptAsManyAsAskedForAndLeftoversGo) {
  fs::create_directories(files_.path("all/step-000004.tmp-1"));
  std::ofstream(files_.path("all/step-000004.tmp-1/model.safetensors")) << "half";
  v1alpha1::JobSpec job = spec("all");
  job.mutable_checkpoint()->set_keep_last(1);
  train(job, layout_of(1, 1, 1));
  EXPECT_THAT(names("all"), ElementsAre("step-000006"));
}

// The first step ruins the weights, so that no other one can be made.
TEST_F(Checkpoints, AreNotPushedOutByStepsThatAreSkipped) {
  const Layout layout = layout_of(1, 1, 2);
  v1alpha1::JobSpec job = spec("all");
  job.mutable_checkpoint()->set_every_steps(1);
  job.mutable_checkpoint()->set_keep_last(1);
  job.mutable_training()->set_steps(1);
  v1alpha1::Optimizer& optimizer = *job.mutable_training()->mutable_optimizer();
  optimizer.set_schedule(v1alpha1::Optimizer::Constant);
  optimizer.set_warmup_steps(0);
  optimizer.set_learning_rate("1e39");
  optimizer.set_max_nonfinite_steps(3);
  train(job, layout);
  job.mutable_training()->set_steps(9);
  const auto ranks = TrainerWorld(job, layout, {.attempt = 2}).wait();
  EXPECT_THAT(log_of(ranks), HasSubstr("was not finite in 3 steps in a row, the last was step 4"));
  EXPECT_THAT(names("all"), ElementsAre("step-000001"));
  job.mutable_training()->set_steps(2);
  train(job, layout, {.attempt = 3});
  EXPECT_THAT(names("all"), ElementsAre("step-000001", "step-000002")) << "the last one is made all the same";
}

TEST_F(Checkpoints, AJobWithMoreStepsGoesOnAndOneThatIsDoneEndsAtOnce) {
  v1alpha1::JobSpec job = spec("all");
  const auto first = train(job, layout_of(1, 1, 1));
  const auto again = train(job, layout_of(1, 1, 1));
  EXPECT_THAT(step_numbers(again[0]), ElementsAre());
  EXPECT_EQ(again[0].reports.back().finished().step(), kSteps);
  job.mutable_training()->set_steps(kSteps + 1);
  job.mutable_training()->set_global_batch_sequences(4);
  EXPECT_THAT(step_numbers(train(job, layout_of(1, 1, 2))[0]), ElementsAre(kSteps + 1));
}

struct Change {
  std::string says;
  std::function<void(v1alpha1::JobSpec&)> make;
};

TEST_F(Checkpoints, AJobThatTheyDoNotFitIsRefusedWithTheReason) {
  train(spec("all"), layout_of(1, 1, 1));
  const Change changes[] = {
      {"ffnSize is 96 in the checkpoint and 192 in the job",
       [](auto& job) { job.mutable_model()->mutable_architecture()->set_ffn_size(192); }},
      {"training.seed is 1 in the checkpoint and 2 in the job",
       [](auto& job) { job.mutable_training()->set_seed(2); }},
      {"training.sequenceLength is 32", [](auto& job) { job.mutable_training()->set_sequence_length(16); }},
      {"its weights are BF16",
       [](auto& job) { job.mutable_training()->set_precision(v1alpha1::Precision::FP32); }},
      {"its moments are F32, training.optimizer.stateType makes them BF16",
       [](auto& job) {
         job.mutable_training()->mutable_optimizer()->set_state_type(v1alpha1::Precision::BF16);
       }},
      {"it has done 6 steps, training.steps is 5", [](auto& job) { job.mutable_training()->set_steps(5); }},
  };
  for (const Change& change : changes) {
    v1alpha1::JobSpec job = spec("all");
    change.make(job);
    const auto ranks = TrainerWorld(job, layout_of(1, 1, 1)).wait();
    const v1alpha1::RankFailure& end = ranks[0].reports.back().failure();
    EXPECT_EQ(end.reason(), "InvalidInput") << change.says;
    EXPECT_THAT(end.message(), HasSubstr(change.says));
  }
  EXPECT_TRUE(fs::exists(files_.path("all/owner-000001.1..numerics")))
      << "who cannot train here takes it from nobody";
}

TEST_F(Checkpoints, AFolderWithoutAnIntactOneIsRefusedAndNotBegunAnew) {
  v1alpha1::JobSpec job = spec("all");
  job.mutable_checkpoint()->set_every_steps(kSteps);
  train(job, layout_of(1, 1, 1));
  fs::resize_file(step("all", kSteps) + "/model.safetensors", 1000);
  for (const char* start : {"first", "second"}) {
    const auto ranks = TrainerWorld(job, layout_of(1, 1, 1)).wait();
    EXPECT_THAT(ranks[0].reports.back().failure().message(),
                HasSubstr("none of its 1 checkpoints can be read"))
        << start << " start";
  }
  EXPECT_THAT(names("all"), ElementsAre(fmt::format("step-{:06}", kSteps)));
}

// Something stands where the files of step 4 would be written, and can be neither removed nor renamed.
TEST_F(Checkpoints, ASaveThatFailsIsToldAndDoesNotStopTheTraining) {
  for (const char* name : {"step-000004.tmp-1", "step-000004.tmp-1.gone"})
    fs::create_directories(files_.path(fmt::format("all/{}/folder", name)));
  const auto ranks = train(spec("all"), layout_of(1, 1, 2));
  EXPECT_THAT(step_numbers(ranks[0]), ElementsAre(1, 2, 3, 4, 5, 6));
  std::map<int, v1alpha1::CheckpointReport::Outcome> outcomes;
  for (const v1alpha1::RankReport& report : ranks[0].reports)
    if (report.has_checkpoint()) outcomes[report.checkpoint().step()] = report.checkpoint().outcome();
  using Report = v1alpha1::CheckpointReport;
  EXPECT_THAT(outcomes, ElementsAre(testing::Pair(2, Report::Written), testing::Pair(4, Report::Failed),
                                    testing::Pair(6, Report::Written)));
  EXPECT_THAT(names("all"),
              ElementsAre("step-000002", "step-000004.tmp-1", "step-000004.tmp-1.gone", "step-000006"));
}

struct Model {
  const char* name;
  bool tied = false;
  bool scaled = false;
  const char* theta = "500000";
};

void PrintTo(const Model& model, std::ostream* out) {
  *out << model.name;
}

class Transformers : public Checkpoints, public testing::WithParamInterface<Model> {
 protected:
  // As many sequences as a batch has, so that their order does not matter.
  std::string held_out_tokens() const {
    std::vector<uint16_t> tokens(8 * 32 + 1);
    for (std::size_t i = 0; i < tokens.size(); ++i) tokens[i] = static_cast<uint16_t>(i * i % 131);
    return files_.write("held-out.bin", data::llm_c_file(tokens).bytes());
  }

  // A line each.
  static test::Outcome losses_of(const std::string& folders, const std::string& tokens) {
    return test::run_shell(fmt::format("{} {}/tests/numerics/transformers_load.py {} 32 {}", CARAVAN_PYTHON,
                                       test::source_folder(), tokens, folders));
  }

  // The same checkpoint with weights in many files.
  void split(const std::string& from, const std::string& to) const {
    const auto source = checkpoint::open_volume(files_.path(from)).value();
    auto whole = checkpoint::Checkpoint::open(*source, kSteps).value();
    const checkpoint::FilePlan plan(whole.plan().tensors(), whole.plan().types(), /*largest_file=*/50'000);
    const auto target = checkpoint::make_volume(files_.path(to)).value();
    const checkpoint::Owner owner = {.job = "split"};
    const checkpoint::SaveRequest request{.owner = owner,
                                          .model = whole.model(),
                                          .layout = layout_of(1, 1, 1),
                                          .terms = whole.terms(),
                                          .state = whole.state()};
    ASSERT_TRUE(begin_save(*target, plan, request.id()));
    checkpoint::RankWriter writer(*target, plan, request.id(), 0);
    for (std::size_t tensor = 0; tensor < plan.tensors().size(); ++tensor) {
      const checkpoint::Box all = checkpoint::whole_tensor(plan.tensors()[tensor].shape);
      writer.add_box(tensor, all);
      for (const auto kind : checkpoint::kStateKinds) {
        if (!plan.has(kind)) continue;
        std::vector<std::byte> bytes(
            static_cast<std::size_t>(all.rows * all.columns * plan.place(kind, tensor).element_bytes));
        ASSERT_TRUE(whole.read(kind, tensor, 0, bytes));
        ASSERT_TRUE(writer.write(kind, tensor, 0, bytes));
      }
    }
    ASSERT_TRUE(writer.finish());
    const Status committed = commit(*target, plan, request);
    ASSERT_TRUE(committed) << committed.error().message;
  }
};

TEST_P(Transformers, LoadTheFolderAsItLiesAndComeToTheSameLoss) {
  const std::string tokens = held_out_tokens();
  v1alpha1::JobSpec job = spec("all", GetParam().tied);
  job.mutable_training()->set_precision(v1alpha1::Precision::FP32);
  job.mutable_data()->set_validation_path(tokens);
  job.mutable_training()->mutable_evaluation()->set_every_steps(kSteps);
  job.mutable_training()->mutable_evaluation()->set_batches(1);
  auto& model = *job.mutable_model()->mutable_architecture();
  model.set_rope_theta(GetParam().theta);
  if (GetParam().scaled) {
    model.mutable_rope_scaling()->set_factor("8");
    model.mutable_rope_scaling()->set_original_positions(16);
  }
  const auto steps = steps_of(train(job, layout_of(1, 1, 1))[0]);
  ASSERT_TRUE(steps.back().has_validation_loss());

  split("all", "split");
  for (const char* folder : {"all", "split"})
    EXPECT_TRUE(fs::exists(step(folder, kSteps) + "/" + checkpoint::kWeightsIndexFile)) << folder;
  const test::Outcome loaded = losses_of(step("all", kSteps) + " " + step("split", kSteps), tokens);
  if (loaded.exit_code == 77) GTEST_SKIP() << "transformers is not installed";
  ASSERT_EQ(loaded.exit_code, 0) << loaded.err;
  std::istringstream lines(loaded.out);
  double whole = 0, parts = 0;
  lines >> whole >> parts;
  EXPECT_NEAR(whole, steps.back().validation_loss(), 1e-5);
  EXPECT_EQ(parts, whole);
}

INSTANTIATE_TEST_SUITE_P(Models, Transformers,
                         testing::Values(Model{.name = "Llama2", .theta = "10000"},
                                         Model{.name = "Tied", .tied = true},
                                         Model{.name = "Scaled", .tied = true, .scaled = true}),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace caravan::numerics
