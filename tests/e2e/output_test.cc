// What the user of `caravan run` sees and gets.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "common/testing/checkout.h"
#include "tests/support/process_table.h"
#include "tests/support/run_process.h"
#include "tests/support/tiny_job.h"

namespace caravan::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::UnorderedElementsAre;

std::vector<std::string> keys(const JsonObject& object) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : object.fields()) keys.push_back(key);
  return keys;
}

TEST(Output, AsJsonLinesTellsPlanStepsAndSummary) {
  const JobFolder folder;
  const Finished finished = run(folder.arguments({.data = 2}));
  ASSERT_EQ(finished.status.exit_code, 0) << finished.err;

  std::vector<std::string> types;
  for (const JsonObject& line : finished.lines) types.push_back(text(line, "type"));
  EXPECT_THAT(types, ElementsAre("plan", "step", "step", "step", "step", "step", "step", "summary"));

  const JsonObject step = all_of(finished, "step").at(3);
  EXPECT_THAT(keys(step),
              UnorderedElementsAre("type", "attempt", "step", "steps", "loss", "gradNorm", "learningRate",
                                   "tokensPerSecond", "mfu", "peakBytes", "seconds"));
  EXPECT_EQ(number(step, "attempt"), 1);
  EXPECT_EQ(number(step, "step"), 4);
  EXPECT_EQ(number(step, "steps"), 6);
  EXPECT_GT(number(step, "gradNorm"), 0);
  EXPECT_GT(number(step, "learningRate"), 0);
  EXPECT_GT(number(step, "tokensPerSecond"), 0);
  EXPECT_GT(number(step, "peakBytes"), 0);

  const JsonObject summary = last_of(finished, "summary");
  EXPECT_THAT(keys(summary),
              UnorderedElementsAre("type", "result", "steps", "tokens", "resumedStep", "firstLoss",
                                   "lastLoss", "meanStepSeconds", "worstStepSeconds", "mfu", "restarts",
                                   "predictedPeakBytes", "peakBytesPerRank", "reason"));
  EXPECT_EQ(text(summary, "result"), "Complete");
  EXPECT_EQ(number(summary, "steps"), 6);
  EXPECT_EQ(number(summary, "tokens"), 6 * 8 * 64);
  EXPECT_EQ(number(summary, "firstLoss"), number(all_of(finished, "step").front(), "loss"));
  EXPECT_EQ(number(summary, "lastLoss"), number(all_of(finished, "step").back(), "loss"));
  EXPECT_EQ(number(summary, "restarts"), 0);
  EXPECT_EQ(summary.fields().at("peakBytesPerRank").list_value().values_size(), 2);
}

TEST(Output, ACatalogueThatKnowsTheProcessorGivesMfuMeasuredAndPredicted) {
  const JobFolder folder;
  const std::string catalogue = folder.files().write("catalogue.yaml", R"(devices:
- {name: this-one, memory: 1Ti, peakTeraflops: "0.1", memoryGigabytesPerSecond: "10", nodeGigabytesPerSecond: "5",
   networkGigabytesPerSecond: "5"}
)");
  const std::vector<std::string> more{"--device-catalogue", catalogue, "--set"};
  const auto with_product = [&](const std::string& product) {
    std::vector<std::string> arguments = more;
    arguments.push_back("spec.resources.device.product=" + product);
    return run(folder.arguments({.data = 2}, arguments));
  };
  const Finished known = with_product("this-one");
  ASSERT_EQ(known.status.exit_code, 0) << known.err;
  EXPECT_GT(number(last_of(known, "summary"), "mfu"), 0);
  EXPECT_GT(number(all_of(known, "step").back(), "mfu"), 0);
  EXPECT_THAT(known.err, Not(HasSubstr("ignored")));

  const Finished unknown = with_product("another-one");
  ASSERT_EQ(unknown.status.exit_code, 0) << unknown.err;
  EXPECT_THAT(unknown.err, HasSubstr("ignored: spec.resources.device.product another-one"));
}

TEST(Output, ThePredictedPeakIsThatOfTheFullestRank) {
  const JobFolder folder;
  const Finished finished = run(folder.arguments({.pipeline = 2}));
  ASSERT_EQ(finished.status.exit_code, 0) << finished.err;
  const JsonObject summary = last_of(finished, "summary");
  double fullest = 0;
  for (const auto& peak : summary.fields().at("peakBytesPerRank").list_value().values()) {
    fullest = std::max(fullest, peak.number_value());
  }
  EXPECT_NEAR(number(summary, "predictedPeakBytes") / fullest, 1, 0.02);
}

TEST(Output, AsTextHasThePlanItsReasonTheStepLinesAndTheSummary) {
  const JobFolder folder;
  const Finished finished = run(folder.arguments({.tensor = 2}, {"-o", "text"}));
  ASSERT_EQ(finished.status.exit_code, 0) << finished.err;
  EXPECT_THAT(finished.out, HasSubstr("TP2"));
  EXPECT_THAT(finished.out,
              testing::ContainsRegex(
                  "\nstep 6/6  loss [0-9.]+  grad_norm [0-9.]+  lr [0-9.e-]+  mem [0-9.]+ MiB "
                  "\\([<0-9]+ % · predicted [0-9.]+\\)  tok/s [0-9,]+  tflops [0-9.e-]+  eta 0.0s\n"));
  EXPECT_THAT(finished.out, HasSubstr("\nComplete: 6 of 6 steps, 3,072 tokens in "));
  EXPECT_THAT(finished.out, Not(HasSubstr("\x1b"))) << "colour where there is no terminal";
  EXPECT_EQ(finished.err, "");
}

TEST(Output, FieldsThatOnlyActOnAClusterAreNamedAsIgnored) {
  const JobFolder folder;
  const Finished finished =
      run(folder.arguments({.more = {"suspend: true", "ttlSecondsAfterFinished: 60",
                                     "scheduling: {topology: {mode: Preferred, key: rack}}"}}));
  ASSERT_EQ(finished.status.exit_code, 0) << finished.err;
  EXPECT_THAT(finished.err, HasSubstr("ignored: spec.suspend"));
  EXPECT_THAT(finished.err, HasSubstr("ignored: spec.ttlSecondsAfterFinished"));
  EXPECT_THAT(finished.err, HasSubstr("ignored: spec.scheduling"));
}

TEST(Output, TheLogHasTheStepsThatTheUserAsksFor) {
  const JobFolder folder;
  const auto log_of = [&](const std::vector<std::string>& options) {
    RunProcess process(folder.arguments({.more = {"logEverySeconds: 3600"}}, options));
    EXPECT_EQ(process.finish().status.exit_code, 0);
    return contents(process.work_directory() + "/node-0.log");
  };
  EXPECT_THAT(log_of({}),
              AllOf(HasSubstr(" step 1/6 "), Not(HasSubstr(" step 2/6 ")), HasSubstr(" step 6/6 ")));
  EXPECT_THAT(log_of({"--log-every", "0"}), AllOf(HasSubstr(" step 2/6 "), HasSubstr(" step 5/6 ")));
}

TEST(Output, WhatARunWritesIsForItsUserAloneAlsoWhereOthersCouldReadTheFileBefore) {
  using std::filesystem::perms;
  const JobFolder folder;
  for (const char* file : {"plan.json.new", "node-0.log"})
    std::filesystem::permissions(folder.files().write(std::string("work/") + file, ""), perms(0644));
  std::vector<std::string> arguments =
      folder.arguments({}, {"--work-directory", folder.files().path("work")});
  arguments.insert(arguments.begin(), "run");
  Result<Process> process =
      Process::spawn({.program = test::program_folder() + "/caravan", .arguments = arguments});
  ASSERT_TRUE(process) << process.error().message;
  EXPECT_EQ(process->wait().exit_code, 0);
  for (const char* file : {"work/plan.json", "work/node-0.log"}) {
    EXPECT_EQ(std::filesystem::status(folder.files().path(file)).permissions(),
              perms::owner_read | perms::owner_write)
        << file;
  }
}

TEST(Output, NothingIsLeftOfARunThatSucceeds) {
  const JobFolder folder;
  const std::string temporary = folder.files().path("tmp");
  std::filesystem::create_directory(temporary);
  std::vector<std::string> arguments = folder.arguments({.data = 2});
  arguments.insert(arguments.begin(), "run");
  Result<Process> process = Process::spawn({.program = test::program_folder() + "/caravan",
                                            .arguments = arguments,
                                            .environment = {{"TMPDIR", temporary}}});
  ASSERT_TRUE(process) << process.error().message;
  EXPECT_EQ(process->wait().exit_code, 0);
  EXPECT_TRUE(std::filesystem::is_empty(temporary));
  EXPECT_TRUE(processes_with(temporary).empty());
}

}  // namespace
}  // namespace caravan::test
