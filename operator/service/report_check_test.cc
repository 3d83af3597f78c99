// What reports and last words may say, case by case.
#include "operator/service/report_check.h"

#include <gmock/gmock.h>

#include "common/json.h"
#include "operator/testing/jobs.h"

namespace caravan::controller::testing {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::Not;

const JobFacts kJob{.steps = 100, .created_at = kStart};
const TimePoint kNow = kStart + 60s;

v1alpha1::JobReport read(const std::string& json) {
  auto report = from_json<v1alpha1::JobReport>(json);
  EXPECT_TRUE(report) << json;
  return report.value_or(v1alpha1::JobReport());
}

// As JSON, or why it is refused.
std::string checked(const v1alpha1::JobReport& report) {
  const auto kept = check_report(report, kJob, kNow);
  return kept ? to_json(*kept) : "refused: " + kept.error().message;
}

struct Case {
  const char* report;
  const char* why;
};
constexpr Case kImpossible[] = {
    {R"({"attemptStarted": {}})", "attempt 0 cannot be"},
    {R"({"attemptStarted": {"attempt": -1}})", "attempt -1 cannot be"},
    {R"({"attemptStarted": {"attempt": 1061}})",
     "attempt 1061 cannot be: a job of this age has between 1 and 1060"},
    {R"({"attemptStarted": {"attempt": 2147483647}})", "attempt 2147483647 cannot be"},
    {R"({"attemptStarted": {"attempt": 2, "ended": [{"attempt": 2147483647}]}})",
     "attempt 2147483647 cannot be"},
    {R"({"attemptStarted": {"attempt": 2, "shortAttempts": -1}})", "attempt -1 cannot be"},
    {R"({"step": {"attempt": 2147483647, "step": 1}})", "attempt 2147483647 cannot be"},
    {R"({"event": {"attempt": 2147483647, "restarting": true}})", "attempt 2147483647 cannot be"},
    {R"({"step": {"attempt": 1, "step": -1}})", "step -1 is none of a job of 100 steps"},
    {R"({"step": {"attempt": 1, "step": 101}})", "step 101 is none"},
    {R"({"step": {"attempt": 1, "step": 1, "seconds": "NaN"}})", "seconds is nan"},
    {R"({"step": {"attempt": 1, "step": 1, "seconds": -1}})", "seconds is -1"},
    {R"({"step": {"attempt": 1, "step": 1, "seconds": 1e300}})", "seconds is 1e+300"},
    {R"({"step": {"attempt": 1, "step": 1, "tokensPerSecond": 1e300}})", "tokensPerSecond is 1e+300"},
    {R"({"step": {"attempt": 1, "step": 1, "tokensPerSecond": "Infinity"}})", "tokensPerSecond is inf"},
    {R"({"step": {"attempt": 1, "step": 1, "usualSeconds": -1}})", "usualSeconds is -1"},
    {R"({"step": {"attempt": 1, "step": 1, "meanSeconds": "NaN"}})", "meanSeconds is nan"},
    {R"({"step": {"attempt": 1, "step": 1, "seconds": 1, "usualSeconds": 1e-300, "tokensPerSecond": 64}})",
     "usual tokensPerSecond is"},
    {R"({"step": {"attempt": 1, "step": 1, "seconds": 1, "usualSeconds": 1e-300, "mfu": 0.5}})",
     "usual mfu is"},
    {R"({"step": {"attempt": 1, "step": 1, "mfu": "-Infinity"}})", "mfu is -inf"},
    {R"({"step": {"attempt": 1, "step": 1, "mfu": "NaN"}})", "mfu is nan"},
    {R"({"checkpoint": {"attempt": 2147483647, "report": {"step": 1}}})", "attempt 2147483647 cannot be"},
    {R"({"checkpoint": {"attempt": 1, "report": {"step": 0}}})", "step 0 is none of a job of 100 steps"},
    {R"({"checkpoint": {"attempt": 1, "report": {"step": 101}}})", "step 101 is none"},
    {R"({"checkpoint": {"attempt": 1, "report": {"step": 7}, "secondsAgo": -1}})", "secondsAgo is -1"},
    {R"({"checkpoint": {"attempt": 1, "report": {"step": 7}, "secondsAgo": 1e300}})", "secondsAgo is 1e+300"},
    {R"({"result": {"result": "Won"}})", "Complete, Failed or Interrupted"},
    {R"({"result": {"result": "Complete", "restarts": -1}})", "attempt -1 cannot be"},
    {R"({"result": {"result": "Complete", "restarts": 2147483647}})", "attempt 2147483647 cannot be"},
    {R"({"result": {"result": "Complete", "lastStep": {"step": 101}}})", "step 101 is none"},
    {R"({"result": {"result": "Complete",
                    "lastCheckpoint": {"report": {"outcome": "Written", "step": 101}}}})",
     "step 101 is none"},
};

TEST(CheckReport, WhatCannotBeIsRefusedWithWhatIsWrong) {
  for (const Case& one : kImpossible) {
    EXPECT_THAT(checked(read(one.report)), HasSubstr(one.why)) << one.report;
    EXPECT_THAT(checked(read(one.report)), HasSubstr("refused")) << one.report;
  }
}

TEST(CheckReport, PhasesThatCannotBeAreLeftOut) {
  EXPECT_THAT(checked(read(R"({"step": {"attempt": 1, "step": 1, "phaseSeconds": {"idle": 0.5}}})")),
              HasSubstr(R"("idle":0.5)"));
  for (const char* phases : {R"({"data": 1, "idle": "NaN"})", R"({"data": -1})", R"({"data": 1e300})"}) {
    EXPECT_EQ(
        checked(read(fmt::format(R"({{"step": {{"attempt": 1, "step": 1, "phaseSeconds": {}}}}})", phases))),
        checked(read(R"({"step": {"attempt": 1, "step": 1}})")));
  }
}

TEST(CheckReport, AStragglerEndsNothing) {
  EXPECT_EQ(checked(read(R"({"event": {"attempt": 1, "reason": "Straggler", "rank": 5, "message": "m",
                                       "restarting": true, "counts": true, "suspectNode": 0}})")),
            checked(read(R"({"event": {"attempt": 1, "reason": "Straggler", "message": "m"}})")));
}

TEST(CheckReport, OfNodesThatAreAbsentThoseThatMayBeAreKept) {
  v1alpha1::JobReport told =
      read(R"({"event": {"attempt": 1, "reason": "NodeAbsent", "message": "m", "suspectNode": 0,
                                               "restarting": true, "absentNodes": [-1, 3, 2000000]}})");
  EXPECT_EQ(checked(told), checked(read(R"({"event": {"attempt": 1, "reason": "NodeAbsent", "message": "m",
                                                     "suspectNode": 0, "absentNodes": [3]}})")));
  for (int node = 0; node < 1000; ++node) told.mutable_event()->add_absent_nodes(node);
  EXPECT_EQ(check_report(told, {}, TimePoint()).value().event().absent_nodes_size(), 64);
}

TEST(CheckReport, ASuspectNodeIsKeptWhereItMayBeOne) {
  for (const char* node : {"-1", "100000", "2147483647"}) {
    const std::string event = R"({"event": {"attempt": 1, "reason": "RankFailed", "suspectNode": )";
    EXPECT_EQ(checked(read(event + node + "}}")),
              checked(read(R"({"event": {"attempt": 1, "reason": "RankFailed"}})")))
        << node;
  }
  EXPECT_THAT(checked(read(R"({"event": {"attempt": 1, "reason": "RankFailed", "suspectNode": 7}})")),
              HasSubstr("\"suspectNode\":7"));
  EXPECT_THAT(
      checked(read(R"({"attemptStarted": {"attempt": 2, "ended": [{"attempt": 1, "suspectNode": 7}]}})")),
      HasSubstr("\"suspectNode\":7"));
}

TEST(CheckReport, AShortageIsKeptWhereAPlanCanBeCorrectedByIt) {
  const auto event = [](const std::string& shortage) {
    return checked(read(
        fmt::format(R"({{"event": {{"attempt": 1, "reason": "OutOfMemory", "shortage": {}}}}})", shortage)));
  };
  const std::string real = R"({"term": "activations", "plannedBytes": 100, "usedBytes": 131})";
  EXPECT_THAT(event(real), HasSubstr(R"("usedBytes":)"));
  EXPECT_THAT(
      checked(read(fmt::format(
          R"({{"attemptStarted": {{"attempt": 2, "ended": [{{"attempt": 1, "shortage": {}}}]}}}})", real))),
      HasSubstr(R"("usedBytes":)"));
  for (const char* nothing : {R"({"term": "everything", "plannedBytes": 100, "usedBytes": 131})",
                              R"({"term": "activations", "plannedBytes": 100, "usedBytes": 99})",
                              R"({"term": "activations", "plannedBytes": -9, "usedBytes": 99})"})
    EXPECT_THAT(event(nothing), Not(HasSubstr("shortage"))) << nothing;
}

TEST(CheckReport, WhatTheOperatorDoesNotReadIsNotKept) {
  EXPECT_EQ(
      checked(read(R"({"step": {"attempt": 1, "step": 100, "loss": 2.5, "modelFlops": -1, "tokens": "-7",
                                      "seconds": 0.5, "tokensPerSecond": 64, "mfu": 0.25,
                                      "peakBytesPerRank": ["3", "9", "-5"]}})")),
      checked(read(R"({"step": {"attempt": 1, "step": 100, "loss": 2.5, "seconds": 0.5,
                                      "tokensPerSecond": 64, "mfu": 0.25, "peakBytesPerRank": ["9"]}})")));
  EXPECT_EQ(checked(read(R"({"step": {"attempt": 1, "peakBytesPerRank": ["-5"]}})")),
            checked(read(R"({"step": {"attempt": 1, "peakBytesPerRank": ["0"]}})")));
  EXPECT_EQ(
      checked(read(R"({"checkpoint": {"attempt": 1, "report": {"outcome": "Written", "step": 7, "path": "/x",
                                                                     "bytes": "-1", "message": "y"}}})")),
      checked(read(R"({"checkpoint": {"attempt": 1, "report": {"outcome": "Written", "step": 7}}})")));
  EXPECT_EQ(checked(read(R"({"rankStarted": {"rank": 7}})")), checked({}));
}

TEST(CheckReport, WhatIsNoNumberIsInformation) {
  for (const char* loss : {"\"NaN\"", "\"-Infinity\"", "1e308", "-3"}) {
    for (const char* number : {"loss", "validationLoss", "gradientNorm", "learningRate"}) {
      const auto report = read(fmt::format(R"({{"step": {{"attempt": 1, "{}": {}}}}})", number, loss));
      EXPECT_THAT(checked(report), ::testing::Not(HasSubstr("refused"))) << number << " " << loss;
    }
  }
}

TEST(CheckReport, ASilenceThatCannotBeIsNotTakenOver) {
  const auto kept = [](const char* seconds) {
    const auto report = read(
        fmt::format(R"({{"event": {{"attempt": 1, "reason": "Stalled", "silentSeconds": {}}}}})", seconds));
    return check_report(report, kJob, kNow).value().event().silent_seconds();
  };
  EXPECT_EQ(kept("36.5"), 36.5);
  for (const char* wrong : {"-1", "\"NaN\"", "\"Infinity\"", "1e300"}) EXPECT_EQ(kept(wrong), 0) << wrong;
}

TEST(CheckReport, TextsAreCutAndCleanedAndReasonsAreOurs) {
  v1alpha1::JobReport report;
  report.mutable_event()->set_attempt(1);
  report.mutable_event()->set_reason(std::string(10'000, 'r'));
  report.mutable_event()->set_message("\x1B[31m" + std::string(10'000, 'm'));
  const auto event = check_report(report, kJob, kNow);
  ASSERT_TRUE(event) << event.error().message;
  EXPECT_EQ(event->event().reason(), "RankFailed");
  EXPECT_EQ(event->event().message().size(), 1024U);
  EXPECT_EQ(event->event().message().substr(0, 5), "[31mm");
  report.mutable_result()->set_result("Failed");
  report.mutable_result()->set_reason("ReasonOfALaterVersion");
  report.mutable_result()->set_message(std::string(10'000, 'm'));
  const auto result = check_report(report, kJob, kNow);
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->result().reason(), "RankFailed");
  EXPECT_EQ(result->result().message().size(), 1024U);
  report.mutable_result()->set_reason("NonFiniteLoss");
  EXPECT_EQ(check_report(report, kJob, kNow)->result().reason(), "NonFiniteLoss");
}

TEST(CheckReport, TheAttemptsBeforeAreKeptButNotAnyNumberOfThem) {
  auto report = read(R"({"attemptStarted": {"attempt": 3, "ended": [{"attempt": 2, "reason": "PodLost"}],
                                            "shortAttempts": 2}})");
  EXPECT_EQ(checked(report), to_json(report));
  for (int i = 0; i < 1000; ++i) report.mutable_attempt_started()->add_ended();
  EXPECT_EQ(check_report(report, kJob, kNow)->attempt_started().ended_size(), 100);
}

TEST(CheckReport, AJobWhoseOperatorWasAwayMayHaveMadeManyAttempts) {
  const auto report = read(R"({"attemptStarted": {"attempt": 80000}})");
  EXPECT_FALSE(check_report(report, kJob, kNow));
  EXPECT_TRUE(check_report(report, kJob, kNow + 24h));
  EXPECT_FALSE(check_report(read(R"({"attemptStarted": {"attempt": 2147483647}})"), {}, kNow))
      << "whose age is not known";
}

}  // namespace
}  // namespace caravan::controller::testing
