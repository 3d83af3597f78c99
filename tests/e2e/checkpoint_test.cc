// A run with checkpoints as its user sees it: whatever ends it, running it again goes on, to the losses of a
// run that nothing ended; `caravan checkpoint` tells what there is.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "common/json.h"
#include "common/testing/checkout.h"
#include "common/testing/shell.h"
#include "tests/support/process_table.h"
#include "tests/support/run_process.h"
#include "tests/support/tiny_job.h"

namespace caravan::test {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr int kSteps = 40;
constexpr int kEvery = 4;
constexpr int kBatch = 64;

class RunWithCheckpoints : public testing::Test {
 protected:
  std::string states(const std::string& name) const { return folder_.files().path(name); }

  TinyJob job(const std::string& name) const {
    return {.data = 2,
            .steps = kSteps,
            .more = {fmt::format("checkpoint: {{path: '{}', everySteps: {}, keepLast: 2}}", states(name),
                                 kEvery)}};
  }

  // Steps long enough for a signal to come between them.
  std::vector<std::string> arguments(const std::string& name) const {
    return folder_.arguments(job(name),
                             {"--set", fmt::format("spec.training.globalBatchSequences={}", kBatch)});
  }

  std::vector<std::string> endless(const std::string& name) const {
    auto all = arguments(name);
    all.insert(all.end(), {"--set", "spec.training.steps=100000"});
    return all;
  }

  std::map<int, double> uninterrupted() const {
    const Finished finished = run(arguments("whole"));
    EXPECT_EQ(finished.status.exit_code, 0) << finished.err;
    return losses_by_step(finished);
  }

  // That it is complete, or a later one.
  static bool wait_for_checkpoint(RunProcess& process, int step) {
    while (const auto told = process.wait_for("checkpoint"))
      if (text(*told, "outcome") == "Written" && number(*told, "step") >= step) return true;
    return false;
  }

  static bool wait_for_outcome(RunProcess& process, const std::string& outcome) {
    while (const auto told = process.wait_for("checkpoint"))
      if (text(*told, "outcome") == outcome) return true;
    return false;
  }

  static Outcome caravan(const std::string& arguments) {
    return run_shell(fmt::format("'{}/caravan' {}", program_folder(), arguments));
  }

  const JobFolder folder_;
};

TEST_F(RunWithCheckpoints, GoesOnWhereCtrlCEndedIt) {
  const std::map<int, double> whole = uninterrupted();
  ASSERT_EQ(whole.size(), static_cast<std::size_t>(kSteps));

  RunProcess first(arguments("cut"));
  ASSERT_TRUE(first.wait_for_step(1, 5));
  first.signal(SIGINT);
  const Finished stopped = first.finish();
  ASSERT_EQ(stopped.status.exit_code, 130) << stopped.err;
  const int done = static_cast<int>(number(last_of(stopped, "step"), "step"));
  ASSERT_LT(done, kSteps);
  EXPECT_TRUE(fs::exists(fmt::format("{}/step-{:06}", states("cut"), done)));

  const Finished again = run(arguments("cut"));
  ASSERT_EQ(again.status.exit_code, 0) << again.err;
  std::map<int, double> both = losses_by_step(again);
  EXPECT_EQ(both.begin()->first, done + 1) << "it did not go on from where it was";
  both.merge(losses_by_step(stopped));
  EXPECT_EQ(both, whole);
}

TEST_F(RunWithCheckpoints, AKilledRankCostsTheStepsSinceTheLastOneOnly) {
  const std::map<int, double> whole = uninterrupted();
  RunProcess process(arguments("cut"));
  ASSERT_TRUE(wait_for_checkpoint(process, 2 * kEvery));
  const auto ranks = processes_of("caravan-trainer", process.work_directory());
  ASSERT_EQ(ranks.size(), 2u);
  kill(ranks[1].pid, SIGKILL);
  const Finished finished = process.finish();
  ASSERT_EQ(finished.status.exit_code, 0) << finished.err;
  int first_of_second = kSteps;
  for (const JsonObject& step : all_of(finished, "step"))
    if (number(step, "attempt") == 2)
      first_of_second = std::min(first_of_second, static_cast<int>(number(step, "step")));
  EXPECT_GT(first_of_second, 2 * kEvery) << "the second attempt did not begin at the checkpoint";
  EXPECT_EQ(first_of_second % kEvery, 1);
  EXPECT_EQ(losses_by_step(finished), whole);
  EXPECT_THAT(left_behind(process.work_directory()), IsEmpty());
  for (const auto& entry : fs::directory_iterator(states("cut")))
    EXPECT_THAT(entry.path().filename().string(), Not(HasSubstr(".tmp-")));
}

// The model of a folder, until the job has a checkpoint of its own.
TEST_F(RunWithCheckpoints, BeginWithWeightsWhoseFolderMayGoWhenTheJobHasItsOwn) {
  ASSERT_EQ(run(arguments("first")).status.exit_code, 0);
  const std::string folder = folder_.files().path("model");
  const Outcome exported = caravan(fmt::format("checkpoint export {} {}", states("first"), folder));
  ASSERT_EQ(exported.exit_code, 0) << exported.err;
  const auto begun = [&](int steps) {
    TinyJob job = this->job("second");
    job.model = fmt::format("{{initFrom: {{path: '{}'}}}}", folder);
    return RunProcess(folder_.arguments(job, {"--set", fmt::format("spec.training.steps={}", steps)}));
  };
  RunProcess process = begun(kEvery);
  const Finished first = process.finish();
  ASSERT_EQ(first.status.exit_code, 0) << first.err;
  const std::string log = contents(process.work_directory() + "/node-0.log");
  const std::string words = "begins with the weights of " + folder;
  EXPECT_THAT(log, HasSubstr("rank 0: caravan-trainer: " + words));
  EXPECT_EQ(log.find(words), log.rfind(words)) << "it is told twice:\n" << log;

  fs::remove_all(folder);
  const Finished second = begun(2 * kEvery).finish();
  ASSERT_EQ(second.status.exit_code, 0) << second.err;
  EXPECT_EQ(losses_by_step(second).begin()->first, kEvery + 1) << "it did not go on from where it was";
  fs::remove_all(states("second"));
  const Finished none = begun(2 * kEvery).finish();
  EXPECT_EQ(none.status.exit_code, 2);
  EXPECT_THAT(none.err, HasSubstr("spec.model.initFrom.path: " + folder));
}

// Weights that stand still are the same bytes in memory as in the first checkpoint. Flips a bit in each copy.
int flip_in_memory(pid_t pid, const std::string& bytes) {
  std::fstream memory(fmt::format("/proc/{}/mem", pid), std::ios::in | std::ios::out | std::ios::binary);
  std::ifstream maps(fmt::format("/proc/{}/maps", pid));
  int flipped = 0;
  for (std::string line; std::getline(maps, line);) {
    unsigned long begin = 0;
    unsigned long end = 0;
    char writable = '-';
    if (std::sscanf(line.c_str(), "%lx-%lx %*c%c", &begin, &end, &writable) != 3 || writable != 'w') continue;
    std::string region(end - begin, '\0');
    memory.clear();
    memory.seekg(static_cast<std::streamoff>(begin));
    if (!memory.read(region.data(), static_cast<std::streamsize>(region.size()))) continue;
    for (std::size_t at = region.find(bytes); at != std::string::npos; at = region.find(bytes, at + 1)) {
      memory.seekp(static_cast<std::streamoff>(begin + at));
      memory.put(static_cast<char>(bytes[0] ^ 1)).flush();
      ++flipped;
    }
  }
  return flipped;
}

std::string some_weights(const std::string& checkpoint) {
  const std::string file = contents(checkpoint + "/model.safetensors");
  constexpr std::size_t kFarIn = 40'000;
  return file.substr(kFarIn, 256);
}

// Half the run lies between the two checkpoints: what is changed meanwhile is no copy that is being written.
TEST_F(RunWithCheckpoints, AreNotMadeOfWeightsThatADeviceSpoilt) {
  constexpr int kHalf = kSteps / 2;
  auto spoilt = arguments("spoilt");
  for (const std::string& setting :
       {std::string("spec.training.optimizer.learningRate=1e-30"),
        std::string("spec.training.optimizer.minLearningRate=1e-31"),
        std::string("spec.parallelism.zeroStage=0"), fmt::format("spec.checkpoint.everySteps={}", kHalf)}) {
    spoilt.emplace_back("--set");
    spoilt.push_back(setting);
  }
  RunProcess process(spoilt);
  ASSERT_TRUE(wait_for_checkpoint(process, kHalf));
  const auto ranks = processes_of("caravan-trainer", process.work_directory());
  ASSERT_EQ(ranks.size(), 2u);
  const std::string weights = some_weights(fmt::format("{}/step-{:06}", states("spoilt"), kHalf));
  ASSERT_GT(flip_in_memory(ranks[1].pid, weights), 0);
  const Finished finished = process.finish();
  EXPECT_EQ(finished.status.exit_code, 0) << finished.err;
  const JsonObject event = last_of(finished, "event");
  EXPECT_EQ(text(event, "reason"), "SilentCorruption");
  EXPECT_THAT(text(event, "message"), HasSubstr("the weights of ranks 0, 1 differ, and must be the same"));
  EXPECT_EQ(number(last_of(finished, "step"), "attempt"), 2);
  EXPECT_TRUE(some_weights(fmt::format("{}/step-{:06}", states("spoilt"), kSteps)) == weights);
}

// On a file system with room for one checkpoint and a half.
TEST_F(RunWithCheckpoints, AFullDiskCostsCheckpointsAndTheJobOnlyItsLast) {
  const std::string disk = states("disk");
  fs::create_directories(disk);
  const std::string mount = fmt::format("mount -t tmpfs -o size=4m tmpfs '{}'", disk);
  if (run_shell(fmt::format("unshare --map-root-user --mount sh -c \"{}\"", mount)).exit_code != 0)
    GTEST_SKIP() << "this machine lets nobody mount a file system of his own";
  std::string command = fmt::format("'{}/caravan' run -o json", program_folder());
  for (const std::string& argument : arguments("disk/states")) command += fmt::format(" '{}'", argument);
  const Outcome outcome = run_shell(
      fmt::format("unshare --map-root-user --mount sh -c \"{} && {} --set spec.failurePolicy.maxRestarts=0\"",
                  mount, command));
  EXPECT_EQ(outcome.exit_code, 1) << outcome.err;
  std::map<std::string, int> outcomes;
  int steps = 0;
  std::istringstream lines(outcome.out);
  for (std::string line; std::getline(lines, line);) {
    const auto object = from_json<JsonObject>(line).value();
    if (text(object, "type") == "step") ++steps;
    if (text(object, "type") == "checkpoint") ++outcomes[text(object, "outcome")];
  }
  EXPECT_EQ(steps, kSteps) << "training goes on";
  EXPECT_EQ(outcomes["Written"], 1);
  EXPECT_GE(outcomes["Failed"], kSteps / kEvery - 1);
  EXPECT_THAT(outcome.err, HasSubstr("No space left on device"));
  EXPECT_THAT(outcome.err, HasSubstr("the weights after the last step, 40, could not be saved"));
}

TEST_F(RunWithCheckpoints, BelongToOneRunAtATime) {
  RunProcess first(endless("shared"));
  ASSERT_TRUE(wait_for_outcome(first, "Written"));
  const Finished second = run(endless("shared"));
  EXPECT_EQ(second.status.exit_code, 2);
  EXPECT_THAT(second.err, HasSubstr(fmt::format("another run trains in '{}': job tiny, process {}",
                                                states("shared"), first.pid())));
  first.signal(SIGKILL);
  first.finish();
  RunProcess third(endless("shared"));
  ASSERT_TRUE(third.wait_for_step(1, 1));
  third.signal(SIGINT);
  const Finished finished = third.finish();
  EXPECT_EQ(finished.status.exit_code, 130) << finished.err;
  EXPECT_GT(losses_by_step(finished).begin()->first, kEvery)
      << "it did not go on from where the first one was killed";
}

// As on machines whose common file system has no locks.
TEST_F(RunWithCheckpoints, BelongToTheRunThatBeganLastWhereTheLockDoesNotReach) {
  RunProcess first(endless("shared"));
  ASSERT_TRUE(wait_for_outcome(first, "Written"));
  ASSERT_TRUE(fs::remove(states("shared") + "/run.lock"));
  RunProcess second(endless("shared"));
  ASSERT_TRUE(wait_for_outcome(second, "Written"));
  ASSERT_TRUE(wait_for_outcome(first, "Failed"));
  for (RunProcess* run : {&first, &second}) run->signal(SIGINT);
  const Finished older = first.finish();
  EXPECT_EQ(older.status.exit_code, 130);
  EXPECT_THAT(older.err, HasSubstr("attempt 1 of job tiny (run local-"));
  EXPECT_THAT(older.err, HasSubstr("has taken this folder over"));
  EXPECT_EQ(second.finish().status.exit_code, 130);
  const Outcome verified = caravan("checkpoint verify " + states("shared"));
  EXPECT_EQ(verified.exit_code, 0) << verified.err;
}

TEST_F(RunWithCheckpoints, ComeWhenSomebodyAsks) {
  auto asked = arguments("asked");
  asked.insert(asked.end(), {"--set", "spec.checkpoint.everySteps=1000"});
  RunProcess process(asked);
  ASSERT_TRUE(process.wait_for_step(1, 3));
  process.signal(SIGUSR1);
  const auto told = process.wait_for("checkpoint");
  ASSERT_TRUE(told);
  EXPECT_EQ(text(*told, "outcome"), "Written");
  EXPECT_LT(number(*told, "step"), kSteps);
  EXPECT_EQ(process.finish().status.exit_code, 0);
}

// Before anybody is there to hear it, and again while ranks start.
TEST_F(RunWithCheckpoints, ComeWhenSomebodyAskedBeforeTheRanksTrained) {
  auto asked = arguments("early");
  asked.insert(asked.end(), {"--set", "spec.checkpoint.everySteps=1000"});
  RunProcess process(asked);
  while (!fs::exists(process.work_directory() + "/plan.json")) usleep(1000);
  process.signal(SIGUSR1);
  const auto told = process.wait_for("checkpoint");
  ASSERT_TRUE(told);
  EXPECT_EQ(text(*told, "outcome"), "Written");
  EXPECT_LT(number(*told, "step"), kSteps);
  const Finished finished = process.finish();
  EXPECT_EQ(finished.status.exit_code, 0) << finished.err;
  EXPECT_EQ(all_of(finished, "checkpoint").size(), 2u) << "one was asked for, and one is the last";
}

TEST(RunWithoutCheckpoints, SaysThatThereIsNoPlaceForOneThatIsAskedFor) {
  const JobFolder folder;
  RunProcess process(folder.arguments({.data = 2, .steps = 100000}));
  ASSERT_TRUE(process.wait_for_step(1, 1));
  process.signal(SIGUSR1);
  ASSERT_TRUE(process.wait_for_step(1, 3));
  process.signal(SIGINT);
  const Finished finished = process.finish();
  EXPECT_EQ(finished.status.exit_code, 130) << finished.err;
  EXPECT_THAT(finished.err, HasSubstr("caravan run of a job with spec.checkpoint has a place for one"));
}

TEST_F(RunWithCheckpoints, BeginAnewOnlyWhereThereAreNone) {
  auto anew = arguments("anew");
  anew.insert(anew.end(), {"--set", "spec.checkpoint.resume=Never"});
  ASSERT_EQ(run(anew).status.exit_code, 0);
  const Finished again = run(anew);
  EXPECT_EQ(again.status.exit_code, 2);
  EXPECT_THAT(again.err, HasSubstr("has checkpoints up to step 40, and checkpoint.resume is Never"));
}

TEST_F(RunWithCheckpoints, MayComeByTheClock) {
  auto by_clock = folder_.arguments(
      {.steps = 60, .more = {fmt::format("checkpoint: {{path: '{}', everySeconds: 1}}", states("clock"))}},
      {"--set", "spec.training.globalBatchSequences=64"});
  const Finished finished = run(by_clock);
  ASSERT_EQ(finished.status.exit_code, 0) << finished.err;
  const double seconds = number(last_of(finished, "summary"), "meanStepSeconds") * 60;
  std::vector<double> written;
  for (const JsonObject& told : all_of(finished, "checkpoint")) written.push_back(number(told, "step"));
  EXPECT_EQ(written.back(), 60);
  EXPECT_LE(static_cast<double>(written.size()), seconds + 2);
  if (seconds > 3) {
    EXPECT_GT(written.size(), 2u) << seconds;
  }
}

TEST_F(RunWithCheckpoints, AreListedInspectedAndVerified) {
  ASSERT_EQ(run(arguments("all")).status.exit_code, 0);
  const std::string path = states("all");
  const Outcome list = caravan("checkpoint list " + path);
  EXPECT_EQ(list.exit_code, 0) << list.err;
  EXPECT_THAT(list.out, HasSubstr("TP1 PP1 DP2"));
  EXPECT_LT(list.out.find("step-000040"), list.out.find("step-000036")) << list.out;
  const Outcome one = caravan("checkpoint list " + path + "/step-000036");
  EXPECT_EQ(one.exit_code, 0) << one.err;
  EXPECT_THAT(one.out, AllOf(HasSubstr("step-000036"), Not(HasSubstr("step-000040"))));
  EXPECT_THAT(caravan("checkpoint list -o json " + path).out,
              HasSubstr(fmt::format(R"("step":36,"updates":36,"samples":{})", 36 * kBatch)));

  const Outcome inspect = caravan("checkpoint inspect " + path);
  EXPECT_EQ(inspect.exit_code, 0) << inspect.err;
  EXPECT_THAT(inspect.out, HasSubstr("step           40 of 40, 40 updates"));
  EXPECT_THAT(inspect.out, HasSubstr("model.safetensors"));
  EXPECT_THAT(caravan("checkpoint inspect -o json " + path + "/step-000036/").out, HasSubstr(R"("step":36)"));

  EXPECT_THAT(caravan("checkpoint verify " + path).out, HasSubstr("step-000036: intact"));
  fs::resize_file(path + "/step-000036/model.safetensors", 4096);
  const Outcome damaged = caravan("checkpoint verify " + path);
  EXPECT_EQ(damaged.exit_code, 2);
  EXPECT_THAT(damaged.out, HasSubstr("step-000040: intact"));
  EXPECT_THAT(damaged.err, HasSubstr("step-000036/model.safetensors: has 4096 bytes"));
  const Outcome lines = caravan("checkpoint verify -o json " + path);
  EXPECT_EQ(lines.exit_code, 2);
  EXPECT_THAT(lines.out, HasSubstr(R"(step-000040","intact":true,"error":null})"));
  EXPECT_THAT(lines.out, HasSubstr(R"(step-000036","intact":false,"error":")"));
  EXPECT_EQ(caravan("checkpoint verify " + path + "/step-000040").exit_code, 0);

  for (const std::string wrong :
       {"list /nowhere", "inspect /nowhere/step-000001", "verify /tmp/nothing-here"})
    EXPECT_EQ(caravan("checkpoint " + wrong).exit_code, 2) << wrong;
  const Outcome none = caravan("checkpoint verify " + folder_.files().path("corpus"));
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_THAT(none.err, HasSubstr("holds no checkpoint"));
}

}  // namespace
}  // namespace caravan::test
