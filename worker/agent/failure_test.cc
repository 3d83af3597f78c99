#include "worker/agent/failure.h"

#include <gmock/gmock.h>

#include <csignal>

#include "common/utf8.h"
#include "proto/caravan/v1alpha1/reasons.h"

namespace caravan::agent {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(TimeOfDeath, IsWhenItWasHeardOfLessItsAge) {
  const std::chrono::steady_clock::time_point now{std::chrono::hours(1)};
  v1alpha1::RankExit exit;
  exit.set_dead_microseconds(300);
  EXPECT_EQ(time_of_death(exit, std::nullopt, now), now - std::chrono::microseconds(300));
  exit.set_dead_microseconds(-5);
  EXPECT_EQ(time_of_death(exit, std::nullopt, now), now) << "nobody dies in the future";
}

TEST(TimeOfDeath, KeepsTheOrderWithinANode) {
  const std::chrono::steady_clock::time_point now{std::chrono::hours(1)};
  v1alpha1::RankExit exit;
  exit.set_dead_microseconds(500);
  const auto before = now - std::chrono::microseconds(10);
  EXPECT_GT(time_of_death(exit, before, now), before);
}

struct Case {
  std::string name;
  v1alpha1::RankExit exit;
  std::string reason;
  std::string what;
  std::string advice;
};

v1alpha1::RankExit exited(int code, const std::string& own_reason = "") {
  v1alpha1::RankExit exit;
  exit.set_rank(3);
  exit.set_exit_code(code);
  if (!own_reason.empty()) {
    exit.mutable_failure()->set_reason(own_reason);
    exit.mutable_failure()->set_message("own words");
  }
  return exit;
}

v1alpha1::RankExit killed(int signal, bool out_of_memory = false) {
  v1alpha1::RankExit exit = exited(-1);
  exit.set_signal(signal);
  exit.set_out_of_memory(out_of_memory);
  return exit;
}

v1alpha1::RankExit not_loaded(const std::string& why) {
  v1alpha1::RankExit exit = exited(127);
  exit.add_last_log_lines(
      "/opt/caravan-trainer: error while loading shared libraries: libc10.so: cannot open "
      "shared object file: " +
      why);
  return exit;
}

TEST(DescribeDeath, SaysOfWhatAndWhatToDo) {
  const std::vector<Case> cases = {
      {"exit code", exited(7), reasons::kRankFailed, "of exit code 7", "log"},
      {"killed", killed(SIGKILL), reasons::kRankFailed, "of signal 9 (SIGKILL)", "kernel log"},
      {"told to end", killed(SIGTERM), reasons::kRankFailed, "of signal 15 (SIGTERM)", "outside of the job"},
      {"crash", killed(SIGABRT), reasons::kRankFailed, "of signal 6 (SIGABRT)", "bug report"},
      {"killed for memory", killed(SIGKILL, true), reasons::kOutOfMemory,
       "out of memory: the kernel killed it", "activationCheckpointing"},
      {"no device memory", exited(1, "OutOfMemory"), reasons::kOutOfMemory,
       "of OutOfMemory: own words (exit code 1)", "activationCheckpointing"},
      {"not finite", exited(1, "NonFiniteLoss"), reasons::kNonFiniteLoss, "of NonFiniteLoss: own words",
       "learningRate"},
      {"silent", exited(1, "Stalled"), reasons::kStalled, "of Stalled: own words", "who stops processes"},
      {"bad input", exited(2, "InvalidInput"), reasons::kRankFailed,
       "of InvalidInput: own words (exit code 2)", "correct what it names"},
      {"not loaded", not_loaded("No such file or directory"), reasons::kRankFailed, "of exit code 127",
       "names the library"},
      {"volume", exited(1, "DataUnavailable"), reasons::kRankFailed, "of DataUnavailable: own words",
       "reaches the volume"},
      {"network", exited(1, "Communication"), reasons::kRankFailed, "of Communication: own words", "network"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    const Failure failure = describe_death({.node = 1, .last_step = 120, .exit = c.exit});
    EXPECT_EQ(failure.reason, c.reason);
    EXPECT_EQ(failure.rank, 3);
    EXPECT_THAT(failure.what,
                AllOf(HasSubstr("rank 3 on node 1 died first, after step 120, "), HasSubstr(c.what)));
    EXPECT_THAT(failure.advice, HasSubstr(c.advice));
  }
}

TEST(DescribeDeath, WhatWouldFailAgainIsBadInput) {
  const auto is_bad_input = [](const v1alpha1::RankExit& exit) {
    return describe_death({.exit = exit}).bad_input;
  };
  EXPECT_TRUE(is_bad_input(exited(2)));
  EXPECT_TRUE(is_bad_input(exited(1, "InvalidInput")));
  EXPECT_TRUE(is_bad_input(not_loaded("No such file or directory")));
  EXPECT_FALSE(is_bad_input(not_loaded("Input/output error"))) << "the next time it may be read";
  EXPECT_FALSE(is_bad_input(exited(127)));
  EXPECT_FALSE(is_bad_input(exited(1)));
}

TEST(DescribeDeath, ACrashSpeaksAgainstTheMachineAndNotWhatWouldHappenElsewhereToo) {
  const auto suspect = [](const v1alpha1::RankExit& exit) {
    return describe_death({.node = 1, .exit = exit}).suspect_node;
  };
  for (const int signal : {SIGSEGV, SIGBUS, SIGABRT}) EXPECT_EQ(suspect(killed(signal)), 1) << signal;
  EXPECT_EQ(suspect(exited(1, "Internal")), 1);
  EXPECT_EQ(suspect(exited(1, "SilentCorruption")), 1) << "its memory changes what it holds";
  for (const int signal : {SIGKILL, SIGTERM, SIGINT}) EXPECT_FALSE(suspect(killed(signal))) << signal;
  EXPECT_FALSE(suspect(killed(SIGKILL, true))) << "out of memory";
  EXPECT_FALSE(suspect(exited(7)));
  for (const char* reason :
       {"OutOfMemory", "NonFiniteLoss", "Stalled", "InvalidInput", "DataUnavailable", "Communication"})
    EXPECT_FALSE(suspect(exited(1, reason))) << reason;
  EXPECT_EQ(describe_lost_node(2, "no heartbeat").suspect_node, 2);
  EXPECT_FALSE(describe_refusal(2, "busy").suspect_node);
}

TEST(DescribeDeath, ASignalGivesTheExitCodeOfAShell) {
  EXPECT_EQ(describe_death({.exit = exited(7)}).exit_code, 7);
  EXPECT_EQ(describe_death({.exit = killed(SIGKILL)}).exit_code, 137);
}

TEST(FailureMessage, EndsWithTheLastLinesOfTheLog) {
  Failure failure = describe_death({.exit = exited(7)});
  failure.log = {"first", "second"};
  EXPECT_THAT(failure_message(failure, "restarting"),
              AllOf(HasSubstr("; restarting; "), EndsWith("its log:\n  first\n  second")));
}

TEST(FailureMessage, FitsIntoOneKilobyteAndKeepsTheLatestLines) {
  Failure failure = describe_death({.exit = exited(7)});
  for (int i = 0; i < 10; ++i) failure.log.push_back(std::to_string(i) + std::string(299, 'x'));
  const std::string message = failure_message(failure, "restarting");
  EXPECT_LE(message.size(), 1000U);
  EXPECT_THAT(message, AllOf(HasSubstr("\n  9xxx"), Not(HasSubstr("\n  0xxx"))));
}

TEST(FailureMessage, LongWordsOfARankAreCutBetweenCharacters) {
  v1alpha1::RankExit exit = exited(1, "Internal");
  std::string words;
  for (int i = 0; i < 2000; ++i) words += "\xC3\xA9";
  for (const std::string start : {"", "x"}) {
    exit.mutable_failure()->set_message(start + words);
    const std::string message = failure_message(describe_death({.exit = exit}), "restarting");
    EXPECT_LE(message.size(), 1000U);
    EXPECT_FALSE(first_invalid_utf8(message));
    EXPECT_THAT(message, HasSubstr("restarting")) << "what happens next is never cut off";
  }
}

}  // namespace
}  // namespace caravan::agent
