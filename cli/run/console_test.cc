#include "cli/run/console.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>

#include "common/process.h"

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

TEST(Console, WordsOfOthersDoNotMoveTheCursor) {
  Captured out;
  Captured err;
  Console console(OutputForm::kText, out.stream(), err.stream());
  console.notice("ignored: \x1B[2Jspec");
  v1alpha1::JobEvent event;
  event.set_reason("RankFailed");
  event.set_message(
      "rank 1 died\x1B[2J. Last lines of its log:\n  \xC2\x9B"
      "31m\x7F");
  console.event(event);
  v1alpha1::CheckpointReport checkpoint;
  checkpoint.set_outcome(v1alpha1::CheckpointReport::Failed);
  checkpoint.set_step(5);
  checkpoint.set_message("\x1B]0;no space\x07");
  console.checkpoint(checkpoint);
  RunSummary summary;
  summary.result.set_result("Failed");
  summary.result.set_message("rank 1 died\x1B[2J");
  console.summary(summary);
  EXPECT_THAT(out.text(), StartsWith("ignored: [2Jspec\n"
                                     "RankFailed: rank 1 died[2J. Last lines of its log:\n  31m\n"
                                     "CheckpointFailed: step 5 has no checkpoint, and training goes on: "
                                     "]0;no space\n"));
  EXPECT_THAT(out.text(), Not(HasSubstr("\x1B")));
}

TEST(Console, WaitsForTheReaderOfAFullPipeThatDoesNotBlock) {
  auto pipe = make_pipe();
  ASSERT_TRUE(pipe);
  const int descriptor = pipe->write_end.get();
  ASSERT_TRUE(set_nonblocking(descriptor));
  const std::string page(4096, 'x');
  std::string written;
  while (write(descriptor, page.data(), page.size()) > 0) written += page;

  std::string read_text;
  std::jthread reader([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    char buffer[4096];
    for (ssize_t count = 0; (count = read(pipe->read_end.get(), buffer, sizeof buffer)) > 0;)
      read_text.append(buffer, static_cast<std::size_t>(count));
  });
  std::FILE* out = fdopen(pipe->write_end.release(), "w");
  Captured err;
  Console console(OutputForm::kText, out, err.stream());
  const std::string notice(200'000, 'y');
  console.notice(notice);
  EXPECT_FALSE(console.is_broken());
  std::fclose(out);
  reader.join();
  EXPECT_EQ(read_text, written + notice + "\n");
}

TEST(Console, GivesAReaderUpThatIsStuckAndWaitsForItOnceAlone) {
  auto pipe = make_pipe();
  ASSERT_TRUE(pipe);
  ASSERT_TRUE(set_nonblocking(pipe->write_end.get()));
  const std::string page(4096, 'x');
  while (write(pipe->write_end.get(), page.data(), page.size()) > 0) {
  }
  std::FILE* out = fdopen(pipe->write_end.release(), "w");
  Captured err;
  Console console(OutputForm::kText, out, err.stream(), std::chrono::milliseconds(500));
  const auto begin = std::chrono::steady_clock::now();
  for (int line = 0; line < 20; ++line) console.notice("a line");
  const auto waited = std::chrono::steady_clock::now() - begin;
  EXPECT_TRUE(console.is_broken());
  EXPECT_GE(waited, std::chrono::milliseconds(500));
  EXPECT_LT(waited, std::chrono::seconds(5)) << "20 times the patience are 10 s";
  std::fclose(out);
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
