#include "cli/trace/step_profile.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "cli/trace/testing/rank_traces.h"

namespace caravan::cli {
namespace {

using testing::add;
using testing::add_message;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::some_trace;
using v1alpha1::ProfilePart;
using v1alpha1::RankTrace;
using v1alpha1::StepProfile;
using v1alpha1::TraceEvent;

// "name all forward backward" in whole microseconds.
std::vector<std::string> parts_of(const StepProfile& profile) {
  std::vector<std::string> parts;
  for (const ProfilePart& part : profile.parts()) {
    parts.push_back(fmt::format("{} {:.0f} {:.0f} {:.0f}", part.name(), 1e6 * part.seconds(),
                                1e6 * part.forward_seconds(), 1e6 * part.backward_seconds()));
  }
  return parts;
}

StepProfile profile_of_one(const RankTrace& trace) {
  const auto profile = profile_of({trace});
  EXPECT_TRUE(profile) << profile.error().message;
  return profile.value_or(StepProfile());
}

TEST(StepProfile, TakesWhatIsWithinOffWhatIsAround) {
  RankTrace trace = some_trace(0);
  add(trace, TraceEvent::step, "step", 0, 100);
  add(trace, TraceEvent::phase, "data", 0, 4);
  add(trace, TraceEvent::forward, "F0", 4, 34);
  add(trace, TraceEvent::kernel, "rms_norm", 4, 6);
  add(trace, TraceEvent::product, "linear", 6, 16);
  add(trace, TraceEvent::communication, "all_reduce", 16, 20, "tensor");
  add(trace, TraceEvent::attention, "attention", 20, 30);
  add(trace, TraceEvent::backward_input, "B0", 34, 74);
  add(trace, TraceEvent::product, "linear_backward_input", 34, 54);
  add(trace, TraceEvent::kernel, "rms_norm", 54, 55);
  add(trace, TraceEvent::backward_weight, "W0", 74, 80);
  add(trace, TraceEvent::product, "linear_backward_weight", 75, 80);
  add(trace, TraceEvent::phase, "communication", 80, 86);
  add(trace, TraceEvent::communication, "reduce_scatter", 80, 85, "data");
  const StepProfile profile = profile_of_one(trace);
  EXPECT_THAT(parts_of(profile), ElementsAre("matrix products 35 10 25", "attention 10 10 0",
                                             "rms_norm 3 2 1", "data reduce_scatter 5 0 0",
                                             "tensor all_reduce 4 4 0", "data 4 0 0", "rest 39 4 20"));
  EXPECT_EQ(profile.job_name(), "tiny");
  EXPECT_EQ(profile.step(), 7);
  EXPECT_EQ(profile.ranks(), 1);
  EXPECT_DOUBLE_EQ(profile.seconds(), 100e-6);
}

TEST(StepProfile, CountsTheKernelsOfAPhaseAsThePhaseAndTheEndOfAMessageAsWaiting) {
  RankTrace trace = some_trace(0);
  add(trace, TraceEvent::step, "step", 0, 50);
  add_message(trace, "recv", 0, 1, 64);
  add(trace, TraceEvent::wait, "wait for F0", 1, 11);
  add_message(trace, "send", 1, 2, 64);
  add_message(trace, "recv", 2, 10, 0);
  add_message(trace, "send", 11, 14, 0);
  add(trace, TraceEvent::phase, "optimizer", 20, 40);
  add(trace, TraceEvent::kernel, "adamw", 20, 30);
  add(trace, TraceEvent::communication, "all_gather", 30, 38, "data");
  add(trace, TraceEvent::phase, "checkpoint", 40, 45);
  EXPECT_THAT(parts_of(profile_of_one(trace)),
              ElementsAre("data all_gather 8 0 0", "pipeline recv 1 0 0", "pipeline send 1 0 0",
                          "waiting for other stages 12 0 0", "optimizer update 12 0 0",
                          "checkpoint hand-over 5 0 0", "rest 11 0 0"));
}

TEST(StepProfile, IsTheMeanOfTheRanksAndAddsUpToTheStep) {
  RankTrace first = some_trace(0);
  add(first, TraceEvent::step, "step", 0, 100);
  add(first, TraceEvent::product, "linear", 10, 50);
  RankTrace second = some_trace(1);
  add(second, TraceEvent::kernel, "before", 0, 3);  // the step
  add(second, TraceEvent::step, "step", 5, 205);
  add(second, TraceEvent::kernel, "rope", 10, 30);
  second.set_dropped_events(3);
  const auto profile = profile_of({first, second});
  ASSERT_TRUE(profile) << profile.error().message;
  EXPECT_THAT(parts_of(*profile), ElementsAre("matrix products 20 0 0", "rope 10 0 0", "rest 120 0 0"));
  double all = 0;
  for (const ProfilePart& part : profile->parts()) all += part.seconds();
  EXPECT_DOUBLE_EQ(all, profile->seconds());
  EXPECT_EQ(profile->ranks(), 2);
  EXPECT_EQ(profile->dropped_events(), 3);
}

TEST(StepProfile, LeavesOutWhatWasBesideTheRanksWork) {
  RankTrace trace = some_trace(0);
  add(trace, TraceEvent::step, "step", 0, 10);
  const std::vector<std::string> own = parts_of(profile_of_one(trace));
  add(trace, TraceEvent::communication, "reduce_scatter", 4, 12, "data");
  trace.mutable_trace_events()->rbegin()->set_tid(2);
  EXPECT_EQ(parts_of(profile_of_one(trace)), own);
}

TEST(StepProfile, RefusesTracesWithoutAStepOrWithEventsThatCutAcrossEachOther) {
  EXPECT_EQ(profile_of({}).error().message, "there are no traces");
  EXPECT_EQ(profile_of({some_trace(2)}).error().message, "the trace of rank 2: there is no step in it");
  RankTrace trace = some_trace(2);
  add(trace, TraceEvent::step, "step", 0, 10);
  add(trace, TraceEvent::forward, "F0", 8, 12);
  const auto profile = profile_of({trace});
  EXPECT_EQ(profile.error().message, "the trace of rank 2: traceEvents[3]: it ends behind what it began in");
  EXPECT_EQ(profile.error().code, ExitCode::kBadInput);
}

TEST(StepProfile, IsATableWithShares) {
  RankTrace trace = some_trace(0);
  add(trace, TraceEvent::step, "step", 0, 400'000);
  add(trace, TraceEvent::forward, "F0", 0, 200'000);
  add(trace, TraceEvent::product, "linear", 0, 100'000);
  trace.set_dropped_events(12);
  StepProfile profile = profile_of_one(trace);
  EXPECT_EQ(profile_text(profile),
            "tiny: step 7 took 400.00 ms\n"
            "\n"
            "                         ms     share     forward    backward   elsewhere\n"
            "matrix products      100.00    25.0 %      100.00           -           -\n"
            "rest                 300.00    75.0 %      100.00           -      200.00\n"
            "\n"
            "12 events were more than ranks note; their time is that of what is around them\n");
  profile.set_ranks(4);
  EXPECT_THAT(profile_text(profile), HasSubstr("step 7 took 400.00 ms, mean of 4 ranks\n"));
}

TEST(StepProfile, FitsIntoAHundredColumns) {
  RankTrace trace = some_trace(0);
  add(trace, TraceEvent::step, "step", 0, 1e9);
  add(trace, TraceEvent::communication, "reduce_scatter", 0, 9e8, "embedding");
  add(trace, TraceEvent::wait, "wait for F0", 9e8, 95e7);
  std::istringstream lines(profile_text(profile_of_one(trace)));
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100U) << line;
}

}  // namespace
}  // namespace caravan::cli
