#include "operator/controller/end_policy.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "common/json.h"
#include "operator/testing/jobs.h"
#include "operator/view/progress_status.h"

namespace caravan::controller::testing {
namespace {

const JobFacts kFacts{.steps = 100, .created_at = kStart};

TEST(EndPolicy, TheEndIsKnownFromTheReportOrFromTheLastWordsOfNodeZero) {
  using Course = Verdict::Course;
  const auto result = [](const char* kind, const char* reason) {
    v1alpha1::JobResult told;
    told.set_result(kind);
    told.set_reason(reason);
    return told;
  };
  PodView failed = ended_pod(0, 1, kStart);
  EXPECT_EQ(judge_end(kFacts, {}, {failed}, kStart).course, Course::kGoesOn);
  failed.last_words = R"({"result": "Failed", "reason": "NonFiniteLoss", "message": "m", "exitCode": 1})";
  EXPECT_EQ(judge_end(kFacts, {}, {failed}, kStart).reason, "NonFiniteLoss");
  failed.last_words = R"({"reason": "NonFiniteLoss", "result": "Failed", "ofALaterVersion": {"depth": 1}})";
  EXPECT_EQ(judge_end(kFacts, {}, {failed}, kStart).reason, "NonFiniteLoss") << "an agent may be a later one";
  EXPECT_EQ(judge_end(kFacts, {}, {ended_pod(0, 0, kStart)}, kStart).course, Course::kCompletes);
  EXPECT_EQ(judge_end(kFacts, {}, {running_pod(0), ended_pod(1, 0, kStart)}, kStart).course, Course::kGoesOn);
  EXPECT_EQ(judge_end(kFacts, JobProgress{.result = result("Complete", "StepsReached")}, {}, kStart).course,
            Course::kCompletes);
  EXPECT_EQ(
      judge_end(kFacts, JobProgress{.result = result("Interrupted", "StoppedByUser")}, {}, kStart).course,
      Course::kGoesOn);
}

TEST(EndPolicy, APodThatEndsWellAndSaysNothingEndsTheJobOnlyAfterItsLastStep) {
  PodView silent = ended_pod(0, 0, kStart);
  silent.last_words.clear();
  JobProgress progress{.attempt = 1, .step = v1alpha1::JobStep()};
  const auto course = [&] { return judge_end(kFacts, progress, {silent}, kStart).course; };
  progress.step->set_step(99);
  EXPECT_EQ(course(), Verdict::Course::kGoesOn);
  progress.step->set_step(100);
  EXPECT_EQ(course(), Verdict::Course::kCompletes);
  EXPECT_EQ(judge_end(kFacts, {}, {silent}, kStart).course, Verdict::Course::kGoesOn);
  silent.last_words = R"({"result": "Compl)";
  EXPECT_EQ(judge_end(kFacts, {}, {silent}, kStart).course, Verdict::Course::kCompletes)
      << "a kubelet keeps 4096 bytes of them";
}

TEST(EndPolicy, TheLastWordsTellOfTheLastStep) {
  PodView done = ended_pod(0, 0, kStart);
  done.last_words =
      R"({"result": "Complete", "lastStep": {"step": 7, "loss": 2.5, "peakBytesPerRank": ["64"]}})";
  const EndVerdict verdict = judge_end(kFacts, {}, {done}, kStart);
  ASSERT_TRUE(verdict.last_step);
  EXPECT_EQ(verdict.last_step->step(), 7);
  EXPECT_EQ(verdict.last_step->loss(), 2.5);
}

TEST(EndPolicy, ALossThatIsNotANumberIsNoneAfterTheLastWordsEither) {
  v1alpha1::JobResult told;
  told.set_result("Failed");
  told.set_reason("NonFiniteLoss");
  told.mutable_last_step()->set_step(7);
  told.mutable_last_step()->set_loss(std::numeric_limits<double>::quiet_NaN());
  told.mutable_last_step()->set_gradient_norm(std::numeric_limits<double>::infinity());
  PodView failed = ended_pod(0, 1, kStart);
  failed.last_words = to_json(told);
  const EndVerdict verdict = judge_end(kFacts, {}, {failed}, kStart);
  ASSERT_TRUE(verdict.last_step);
  EXPECT_TRUE(std::isnan(verdict.last_step->loss()));
  EXPECT_TRUE(std::isnan(verdict.last_step->gradient_norm()));
  v1alpha1::ProgressStatus shown;
  show_step(job().spec, *verdict.last_step, kStart, shown);
  EXPECT_EQ(shown.loss(), "NaN");
}

TEST(EndPolicy, LastWordsThatCannotBeTrueAreNotHeard) {
  PodView done = ended_pod(0, 1, kStart);
  done.last_words = R"({"result": "Complete", "restarts": 2147483647})";
  EXPECT_EQ(judge_end(kFacts, {}, {done}, kStart).course, Verdict::Course::kGoesOn);
  done.last_words = R"({"result": "Complete", "lastStep": {"step": 7, "tokensPerSecond": 1e300}})";
  EXPECT_EQ(judge_end(kFacts, {}, {done}, kStart).course, Verdict::Course::kGoesOn);
  done.last_words = R"({"result": "Failed", "reason": ")" + std::string(3000, 'r') + "\"}";
  EXPECT_EQ(judge_end(kFacts, {}, {done}, kStart).reason, reasons::kRankFailed);
}

}  // namespace
}  // namespace caravan::controller::testing
