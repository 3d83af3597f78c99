#include "cli/run/console.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

namespace caravan::cli {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

// A stream that is no terminal and keeps what is written.
class Captured {
 public:
  Captured() : stream_(open_memstream(&text_, &size_)) {}
  ~Captured() {
    std::fclose(stream_);
    std::free(text_);
  }
  std::FILE* stream() { return stream_; }
  std::string text() {
    std::fflush(stream_);
    return {text_, size_};
  }

 private:
  char* text_ = nullptr;
  std::size_t size_ = 0;
  std::FILE* stream_;
};

void show_a_run(Console& console) {
  console.notice("ignored: spec.worker");
  console.plan({}, "the plan\n");
  v1alpha1::JobStep step;
  step.set_step(1);
  console.step(step, {.steps = 1}, {});
  v1alpha1::JobEvent event;
  event.set_reason("RankFailed");
  event.set_message("rank 1 died");
  console.event(event);
  RunSummary summary;
  summary.result.set_result("Failed");
  console.summary(summary);
}

TEST(Console, AsTextTellsEverythingOnStandardOutput) {
  Captured out;
  Captured err;
  Console console(OutputForm::kText, out.stream(), err.stream());
  show_a_run(console);
  EXPECT_THAT(out.text(), StartsWith("ignored: spec.worker\nthe plan\nstep 1/1  loss 0.0000  "));
  EXPECT_THAT(out.text(), HasSubstr("\nRankFailed: rank 1 died\n\nFailed: "));
  EXPECT_THAT(out.text(), Not(HasSubstr("\x1b")));
  EXPECT_THAT(err.text(), IsEmpty());
}

TEST(Console, AsJsonHasOneObjectALineAndTheTextOnStandardError) {
  Captured out;
  Captured err;
  Console console(OutputForm::kJson, out.stream(), err.stream());
  show_a_run(console);
  EXPECT_THAT(out.text(), testing::MatchesRegex("\\{\"type\":\"plan\".*\n\\{\"type\":\"step\".*\n"
                                                "\\{\"type\":\"event\".*\n\\{\"type\":\"summary\".*\n"));
  EXPECT_THAT(err.text(), StartsWith("ignored: spec.worker\nthe plan\nRankFailed: rank 1 died\n"));
  EXPECT_THAT(err.text(), Not(HasSubstr("step 1/1")));
}

TEST(Console, TellsOfCheckpointsAndInALogOfTroubleAlone) {
  v1alpha1::CheckpointReport checkpoint;
  checkpoint.set_step(500);
  checkpoint.set_path("ck");
  checkpoint.set_message("no space left");
  using Report = v1alpha1::CheckpointReport;
  const auto told = [&](OutputForm form) {
    Captured out;
    Captured err;
    Console console(form, out.stream(), err.stream());
    for (const auto outcome : {Report::Resumed, Report::Unusable, Report::Written, Report::Failed}) {
      checkpoint.set_outcome(outcome);
      console.checkpoint(checkpoint);
    }
    return form == OutputForm::kText ? out.text() : err.text();
  };
  EXPECT_EQ(told(OutputForm::kText),
            "Goes on after step 500, from its checkpoint in ck\n"
            "CheckpointUnusable: the one of step 500 cannot be used: no space left\n"
            "checkpoint of step 500 in ck: 0 B in 0.00 s, of which training waited 0.00\n"
            "CheckpointFailed: step 500 has no checkpoint, and training goes on: no space left\n");
  EXPECT_THAT(told(OutputForm::kJson), Not(HasSubstr("checkpoint of step 500 in ck")));
}

TEST(Console, NoticesThatNobodyReadsAnyMore) {
  std::FILE* full = std::fopen("/dev/full", "w");
  ASSERT_NE(full, nullptr);
  Captured err;
  Console console(OutputForm::kJson, full, err.stream());
  EXPECT_FALSE(console.is_broken());
  console.step({}, {}, {});
  EXPECT_TRUE(console.is_broken());
  std::fclose(full);
}

}  // namespace
}  // namespace caravan::cli
