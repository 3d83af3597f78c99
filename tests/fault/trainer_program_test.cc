// How caravan-trainer begins and ends: bad input, commands, losses that are not finite, peers and agents that
// die.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>

#include "common/testing/checkout.h"
#include "common/testing/temporary_folder.h"
#include "data/testing/token_files.h"
#include "tests/numerics/trainer_world.h"
#include "tests/support/tiny_job.h"

namespace caravan::numerics {
namespace {

using v1alpha1::JobSpec;
using v1alpha1::RankFailure;

class TrainerProgram : public testing::Test {
 protected:
  JobSpec spec() const { return tiny_spec(corpus_.files().path("corpus/genesis.bin")); }
  JobSpec endless() const {
    JobSpec job = spec();
    job.mutable_training()->set_steps(1'000'000);
    return job;
  }
  std::string validation_file() const { return corpus_.files().path("corpus/held-out.bin"); }

 private:
  test::JobFolder corpus_;
};

RankFailure last_failure(const RankResult& rank) {
  EXPECT_FALSE(rank.reports.empty()) << rank.log;
  return rank.reports.empty() ? RankFailure() : rank.reports.back().failure();
}

void expect_bad_input(const std::vector<RankResult>& ranks, const std::string& words) {
  EXPECT_EQ(ranks.at(0).status, ExitStatus{.exit_code = 2});
  const RankFailure failure = last_failure(ranks[0]);
  EXPECT_EQ(failure.reason(), "InvalidInput");
  EXPECT_NE(failure.message().find(words), std::string::npos) << failure.message();
}

TEST_F(TrainerProgram, AMissingTokenFileIsAFailureOfTheMachineThatNamesIt) {
  const auto ranks = TrainerWorld(tiny_spec("/nonexistent/train.bin"), layout_of(1, 1, 1)).wait();
  EXPECT_EQ(ranks.at(0).status, ExitStatus{.exit_code = 1});
  EXPECT_EQ(last_failure(ranks[0]).reason(), "DataUnavailable");
  EXPECT_NE(last_failure(ranks[0]).message().find("/nonexistent/train.bin"), std::string::npos);
}

TEST_F(TrainerProgram, ATokenOutsideTheVocabularyIsBadInputThatNamesTheFile) {
  JobSpec small = spec();
  small.mutable_model()->mutable_architecture()->set_vocab_size(100);
  expect_bad_input(TrainerWorld(small, layout_of(1, 1, 1)).wait(), "genesis.bin");
}

TEST_F(TrainerProgram, AFileToTrainAndToValidateOnIsBadInput) {
  JobSpec job = spec();
  job.mutable_data()->set_validation_path(job.data().path());
  job.mutable_training()->mutable_evaluation()->set_every_steps(2);
  job.mutable_training()->mutable_evaluation()->set_batches(1);
  expect_bad_input(TrainerWorld(job, layout_of(1, 1, 1)).wait(), "is a file of the training data too");
}

TEST_F(TrainerProgram, GroupsThatTheEnvironmentWantsInVainAreBadInput) {
  setenv("CARAVAN_COMM", "tcp", /*overwrite=*/1);
  const auto ranks = TrainerWorld(spec(), layout_of(1, 1, 1)).wait();
  unsetenv("CARAVAN_COMM");
  expect_bad_input(ranks, "CARAVAN_COMM is 'tcp': take gloo");
}

// It began before it was refused.
TEST_F(TrainerProgram, AFileToTrainAndToValidateOnIsToldWhereTrainingGoesOn) {
  const test::TemporaryFolder folder;
  JobSpec job = spec();
  job.mutable_checkpoint()->set_path(folder.path("checkpoints"));
  train(job, layout_of(1, 1, 1));
  job.mutable_training()->set_steps(4);
  job.mutable_data()->set_validation_path(job.data().path());
  job.mutable_training()->mutable_evaluation()->set_every_steps(2);
  job.mutable_training()->mutable_evaluation()->set_batches(1);
  const auto ranks = train(job, layout_of(1, 1, 1));
  EXPECT_THAT(ranks.front().log, testing::HasSubstr("is a file of the training data too"));
}

TEST_F(TrainerProgram, TooFewTokensForOneSampleAreBadInput) {
  JobSpec long_sequences = spec();
  long_sequences.mutable_training()->set_sequence_length(1 << 21);
  expect_bad_input(TrainerWorld(long_sequences, layout_of(1, 1, 1)).wait(), "too few");
}

TEST_F(TrainerProgram, AnImageWithoutTheLibraryForGpusIsBadInputThatSaysWhatToTake) {
  if (std::filesystem::exists(test::program_folder() + "/../lib/libcaravan_device_cuda.so"))
    GTEST_SKIP() << "this build has it";
  JobSpec on_gpu = spec();
  on_gpu.mutable_resources()->mutable_device()->set_kind(v1alpha1::Device::GPU);
  expect_bad_input(TrainerWorld(on_gpu, layout_of(1, 1, 1)).wait(), "images.workerCuda");
}

TEST_F(TrainerProgram, ALayoutThatDoesNotFitTheModelIsBadInputThatNamesTheField) {
  planner::Layout three_layers = layout_of(1, 1, 1);
  three_layers.layers_per_stage = {3};
  expect_bad_input(TrainerWorld(spec(), three_layers).wait(), "plan.layersPerStage");
}

TEST_F(TrainerProgram, OneRanksOrderToStopEndsAllRanksAfterTheSameStep) {
  TrainerWorld world(endless(), layout_of(1, 2, 1));
  ASSERT_TRUE(world.wait_for_step(0, 2));
  v1alpha1::RankCommand stop;
  stop.set_stop_after_step(0);
  world.send(1, stop);
  const auto ranks = world.wait();
  for (const RankResult& rank : ranks) EXPECT_EQ(rank.status, ExitStatus{.exit_code = 0}) << rank.log;
  const int stopped = ranks[0].reports.back().finished().step();
  EXPECT_GE(stopped, 2);
  EXPECT_EQ(ranks[1].reports.back().finished().step(), stopped);
}

TEST_F(TrainerProgram, AStepToStopAfterIsTheLastOne) {
  TrainerWorld world(endless(), layout_of(1, 1, 2));
  v1alpha1::RankCommand stop;
  stop.set_stop_after_step(20);
  world.send(0, stop);
  for (const RankResult& rank : world.wait())
    EXPECT_EQ(rank.reports.back().finished().step(), 20) << rank.log;
}

TEST_F(TrainerProgram, EndsAtOnceWhenTheAgentIsGone) {
  TrainerWorld world(endless(), layout_of(1, 1, 1));
  ASSERT_TRUE(world.wait_for_step(0, 1));
  world.close_command_pipe(0);
  const auto ranks = world.wait();
  EXPECT_EQ(ranks[0].status, ExitStatus{.exit_code = 1});
  EXPECT_TRUE(ranks[0].reports.back().has_step());
}

TEST_F(TrainerProgram, ALostPeerIsAFailureOfCommunication) {
  TrainerWorld world(endless(), layout_of(2, 1, 1));
  ASSERT_TRUE(world.wait_for_step(0, 1));
  world.process(1).signal_group(SIGKILL);
  // wait() kills the others at the first failure, which is the killed rank's: let the survivor end by itself
  // first.
  EXPECT_FALSE(world.wait_for_step(0, 1'000'000));
  const auto ranks = world.wait();
  EXPECT_EQ(ranks[1].status, (ExitStatus{.signal = SIGKILL}));
  EXPECT_EQ(last_failure(ranks[0]).reason(), "Communication");
}

TEST_F(TrainerProgram, StepsThatAreNotFiniteAreSkippedAndThenFail) {
  JobSpec exploding = endless();
  exploding.mutable_training()->mutable_optimizer()->set_learning_rate("1e30");
  exploding.mutable_training()->mutable_optimizer()->set_warmup_steps(0);
  exploding.mutable_training()->mutable_optimizer()->set_max_nonfinite_steps(3);
  const auto ranks = TrainerWorld(exploding, layout_of(1, 1, 1)).wait();
  EXPECT_EQ(ranks[0].status, ExitStatus{.exit_code = 1});
  EXPECT_EQ(last_failure(ranks[0]).reason(), "NonFiniteLoss");
  std::vector<bool> skipped;
  for (const auto& report : ranks[0].reports) {
    if (report.has_step()) skipped.push_back(report.step().skipped());
  }
  ASSERT_GE(skipped.size(), 4u);
  EXPECT_FALSE(skipped.front());
  EXPECT_EQ(std::vector<bool>(skipped.end() - 3, skipped.end()), std::vector<bool>(3, true));
}

// Of what it has already, and a little more.
void limit_address_space(pid_t process) {
  const std::string status = test::contents("/proc/" + std::to_string(process) + "/statm");
  const rlim_t pages = std::stoull(status);
  const rlim_t bytes = pages * static_cast<rlim_t>(sysconf(_SC_PAGESIZE)) + (64 << 20);
  const rlimit limit{.rlim_cur = bytes, .rlim_max = bytes};
  ASSERT_EQ(prlimit(process, RLIMIT_AS, &limit, nullptr), 0);
}

TEST_F(TrainerProgram, OneThatIsRefusedMemorySaysWhatItHadAndWhatWasPlanned) {
  JobSpec large = endless();
  large.mutable_training()->set_sequence_length(8192);
  large.mutable_training()->set_global_batch_sequences(16);
  large.mutable_resources()->set_devices(1);
  large.mutable_resources()->mutable_device()->set_kind(v1alpha1::Device::CPU);
  planner::Layout layout = layout_of(1, 1, 1);
  layout.micro_batch_size = 16;
  TrainerWorld world(large, layout);
  ASSERT_TRUE(world.wait_for_start(0));
  limit_address_space(world.process(0).pid());
  const auto ranks = world.wait();
  EXPECT_EQ(ranks[0].status, ExitStatus{.exit_code = 1});
  EXPECT_EQ(last_failure(ranks[0]).reason(), "OutOfMemory");
  EXPECT_THAT(last_failure(ranks[0]).message(),
              testing::MatchesRegex("no memory for [^\n]* GiB planned; no use of it grew [^\n]*"));
}

TEST_F(TrainerProgram, ASecondAttemptGivesTheBitsOfTheFirst) {
  const planner::Layout layout = layout_of(1, 2, 1);
  EXPECT_EQ(losses(train(spec(), layout, {.attempt = 2})), losses(train(spec(), layout, {.attempt = 1})));
}

std::vector<double> validation_losses(const RankResult& rank) {
  std::vector<double> losses;
  for (const auto& report : rank.reports) {
    if (report.step().has_validation_loss()) losses.push_back(report.step().validation_loss());
  }
  return losses;
}

TEST_F(TrainerProgram, ValidationLossComesEveryFewStepsAndIsTheSameInEveryLayout) {
  JobSpec validated = spec();
  validated.mutable_data()->set_validation_path(validation_file());
  validated.mutable_training()->set_steps(4);
  validated.mutable_training()->mutable_evaluation()->set_every_steps(2);
  validated.mutable_training()->mutable_evaluation()->set_batches(2);
  const auto one = validation_losses(train(validated, layout_of(1, 1, 1)).back());
  const auto ranks = train(validated, layout_of(1, 2, 2));
  ASSERT_EQ(one.size(), 2u);
  EXPECT_LT(one[1], one[0]);
  const auto spread = validation_losses(ranks.back());
  ASSERT_EQ(spread.size(), 2u);
  for (const std::size_t i : {0, 1}) EXPECT_NEAR(spread[i], one[i], 1e-5 * one[i]);
  EXPECT_TRUE(validation_losses(ranks.front()).empty());
}

std::string token_file(std::size_t sequences) {
  std::vector<uint16_t> tokens(sequences * 32 + 1);
  for (std::size_t i = 0; i < tokens.size(); ++i) tokens[i] = static_cast<uint16_t>(i * i % 131);
  return data::llm_c_file(tokens).bytes();
}

// As on nodes of which one has not heard yet of the last file: the last stage would read targets of other
// samples than the first one reads inputs.
TEST_F(TrainerProgram, RanksThatSeeOtherTokenFilesBeginNoTraining) {
  const test::TemporaryFolder folder;
  for (const char* file : {"all/a.bin", "all/b.bin", "some/a.bin"}) folder.write(file, token_file(20));
  const auto hide_the_last = [&](v1alpha1::RankConfig& config) {
    config.mutable_spec()->mutable_data()->set_path(folder.path(config.rank() == 1 ? "some" : "all"));
  };
  std::string told;
  for (const RankResult& rank : TrainerWorld(spec(), layout_of(1, 2, 1), {.change = hide_the_last}).wait()) {
    for (const auto& report : rank.reports) {
      EXPECT_FALSE(report.has_step());
      if (report.failure().reason() == "DataUnavailable") told = report.failure().message();
    }
  }
  EXPECT_THAT(told, testing::HasSubstr("rank 1 opened other files than rank 0: rank 0 has 2 files with 1282 "
                                       "tokens, rank 1 has 1 file with 641 tokens; all nodes must see the "
                                       "same files"));
}

TEST_F(TrainerProgram, WhoeverHasItStopWaitsForNoEvaluation) {
  JobSpec validated = endless();
  validated.mutable_data()->set_validation_path(validation_file());
  validated.mutable_training()->mutable_evaluation()->set_every_steps(2);
  TrainerWorld world(validated, layout_of(1, 2, 1));
  v1alpha1::RankCommand stop;
  stop.set_stop_after_step(6);
  world.send(0, stop);
  const auto ranks = world.wait();
  EXPECT_EQ(ranks.back().reports.back().finished().step(), 6) << ranks.back().log;
  EXPECT_EQ(validation_losses(ranks.back()).size(), 2U) << "after steps 2 and 4";
}

TEST_F(TrainerProgram, AnEvaluationInWhichOneRankIsToldToStopIsGivenUp) {
  const test::TemporaryFolder folder;
  JobSpec validated = endless();
  validated.mutable_data()->set_validation_path(
      folder.write("held-out.bin", token_file(80'000)));  // for long
  validated.mutable_training()->mutable_evaluation()->set_every_steps(2);
  validated.mutable_training()->mutable_evaluation()->set_batches(10'000);
  TrainerWorld world(validated, layout_of(1, 2, 1));
  ASSERT_TRUE(world.wait_for_interlude(0, 2));
  ASSERT_TRUE(world.wait_for_interlude(0, 2, /*goes_on=*/true)) << "or it would count as hung";
  v1alpha1::RankCommand stop;
  stop.set_stop_after_step(2);
  world.send(1, stop);
  for (const RankResult& rank : world.wait()) {
    EXPECT_EQ(rank.status, ExitStatus{.exit_code = 0}) << rank.log;
    EXPECT_EQ(rank.reports.back().finished().step(), 2) << rank.log;
    EXPECT_TRUE(validation_losses(rank).empty()) << "of a part of the set";
  }
}

TEST_F(TrainerProgram, AnEvaluationTakesNoMoreBatchesThanTheSetHas) {
  const test::TemporaryFolder folder;
  JobSpec validated = spec();
  validated.mutable_data()->set_validation_path(
      folder.write("held-out.bin", token_file(20)));  // two batches and a half
  validated.mutable_training()->mutable_evaluation()->set_every_steps(3);
  const auto evaluated = [&](int batches) {
    validated.mutable_training()->mutable_evaluation()->set_batches(batches);
    return train(validated, layout_of(1, 4, 1));
  };
  const auto two = evaluated(2);
  const auto five = evaluated(5);
  EXPECT_EQ(validation_losses(five.back()), validation_losses(two.back()));
  EXPECT_THAT(five.front().log, testing::HasSubstr("an evaluation takes 2 and not the 5"));
  EXPECT_THAT(two.front().log, testing::Not(testing::HasSubstr("an evaluation takes")));
}

TEST_F(TrainerProgram, AValidationSetOfLessThanABatchIsTold) {
  const test::TemporaryFolder folder;
  JobSpec validated = spec();
  validated.mutable_data()->set_validation_path(folder.write("held-out.bin", token_file(5)));
  validated.mutable_training()->mutable_evaluation()->set_every_steps(3);
  validated.mutable_training()->mutable_evaluation()->set_batches(1);
  const auto ranks = train(validated, layout_of(1, 2, 1));
  EXPECT_EQ(validation_losses(ranks.back()).size(), 1u);
  EXPECT_THAT(ranks.front().log,
              testing::HasSubstr("the validation set has 5 sequences, fewer than the 8 of a batch"));
}

TEST_F(TrainerProgram, ARankThatIsStuckInATransferTellsWhomItWaitsFor) {
  TrainerWorld world(endless(), layout_of(1, 2, 1));
  ASSERT_TRUE(world.wait_for_step(0, 2));
  world.process(1).signal_group(SIGSTOP);
  v1alpha1::RankActivity activity;
  while (activity.operation().empty() || activity.seconds() < 0.5) activity = world.ask_activity(0);
  EXPECT_EQ(activity.phase(), "communication");
  EXPECT_EQ(activity.axis(), "pipeline") << activity.ShortDebugString();
  EXPECT_EQ(activity.peer(), 1) << activity.ShortDebugString();
  world.process(1).signal_group(SIGCONT);
  v1alpha1::RankCommand stop;
  stop.set_stop_after_step(0);
  world.send(0, stop);
  for (const RankResult& rank : world.wait()) EXPECT_EQ(rank.status, ExitStatus{.exit_code = 0}) << rank.log;
}

// Without what is announced again, as it takes long on this machine.
std::vector<int> delayed_steps(const RankResult& rank) {
  std::vector<int> steps;
  for (const auto& report : rank.reports) {
    if (report.has_interlude() && !report.interlude().goes_on())
      steps.push_back(report.interlude().delayed_step());
  }
  return steps;
}

TEST_F(TrainerProgram, TheFirstRankAnnouncesEvaluationsAndCheckpoints) {
  const test::TemporaryFolder folder;
  JobSpec job = spec();
  job.mutable_training()->set_steps(4);
  job.mutable_data()->set_validation_path(validation_file());
  job.mutable_training()->mutable_evaluation()->set_every_steps(2);
  job.mutable_training()->mutable_evaluation()->set_batches(1);
  job.mutable_checkpoint()->set_path(folder.path("checkpoints"));
  job.mutable_checkpoint()->set_every_steps(3);
  const auto ranks = train(job, layout_of(1, 1, 2));
  EXPECT_EQ(delayed_steps(ranks[0]), (std::vector<int>{2, 3, 4, 5}))
      << "evaluations delay steps 2 and 4, checkpoints step 3 and what follows step 4";
  EXPECT_EQ(delayed_steps(ranks[1]), std::vector<int>{});
}

TEST_F(TrainerProgram, EveryRankReportsItsShareOfTheWork) {
  const auto ranks = train(spec(), layout_of(1, 2, 1));
  for (const RankResult& rank : ranks) {
    const v1alpha1::StepReport& step = rank.reports.at(1).step();
    EXPECT_EQ(step.tokens(), 8 * 32);
    EXPECT_EQ(step.rank_tokens(), 8 * 32 / 2);
    EXPECT_GT(step.model_flops(), 0);
    EXPECT_EQ(step.hardware_flops(), step.model_flops());
    EXPECT_GT(step.phase_seconds().backward(), 0);
    EXPECT_GT(step.work_seconds(), 0);
    EXPECT_LT(step.work_seconds(), step.seconds());
    EXPECT_TRUE(std::any_of(step.collectives().begin(), step.collectives().end(), [](const auto& count) {
      return count.operation() == "send" && count.axis() == "pipeline";
    }));
    EXPECT_EQ(rank.reports.back().finished().peak_bytes(), rank.reports.at(3).step().peak_bytes());
  }
  EXPECT_FALSE(ranks[0].reports.at(1).step().has_loss());
  EXPECT_TRUE(ranks[1].reports.at(1).step().has_loss());
}

TEST(TrainerCommandLine, HasHelpAndVersionAndRefusesTheRest) {
  const auto exit_code = [](const std::vector<std::string>& arguments) {
    return Process::spawn({.program = test::program_folder() + "/caravan-trainer", .arguments = arguments})
        ->wait()
        .exit_code;
  };
  EXPECT_EQ(exit_code({"--help"}), 0);
  EXPECT_EQ(exit_code({"--version"}), 0);
  EXPECT_EQ(exit_code({}), 2);
  EXPECT_EQ(exit_code({"--config", "/nonexistent/rank.json"}), 1);
}

}  // namespace
}  // namespace caravan::numerics
