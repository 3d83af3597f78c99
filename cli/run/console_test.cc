#include "cli/run/console.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <climits>
#include <iterator>
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
  ~Captured() { std::fclose(stream_); }
  std::FILE* stream() { return stream_; }
  std::string text() {
    std::string text(static_cast<std::size_t>(lseek(fileno(stream_), 0, SEEK_END)), '\0');
    EXPECT_EQ(pread(fileno(stream_), text.data(), text.size(), 0), std::ssize(text));
    return text;
  }

 private:
  std::FILE* stream_ = std::tmpfile();
};

bool nobody_asks() {
  return false;
}

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
  Console console(OutputForm::kText, out.stream(), err.stream(), nobody_asks);
  show_a_run(console);
  EXPECT_THAT(out.text(), StartsWith("ignored: spec.worker\nthe plan\nstep 1/1  loss 0.0000  "));
  EXPECT_THAT(out.text(), HasSubstr("\nRankFailed: rank 1 died\n\nFailed: "));
  EXPECT_THAT(out.text(), Not(HasSubstr("\x1b")));
  EXPECT_THAT(err.text(), IsEmpty());
}

TEST(Console, AsJsonHasOneObjectALineAndTheTextOnStandardError) {
  Captured out;
  Captured err;
  Console console(OutputForm::kJson, out.stream(), err.stream(), nobody_asks);
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
    Console console(form, out.stream(), err.stream(), nobody_asks);
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
            "CheckpointFailed: step 500 has no checkpoint: no space left\n");
  EXPECT_THAT(told(OutputForm::kJson), Not(HasSubstr("checkpoint of step 500 in ck")));
}

TEST(Console, WordsOfOthersDoNotMoveTheCursor) {
  Captured out;
  Captured err;
  Console console(OutputForm::kText, out.stream(), err.stream(), nobody_asks);
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
                                     "CheckpointFailed: step 5 has no checkpoint: "
                                     "]0;no space\n"));
  EXPECT_THAT(out.text(), Not(HasSubstr("\x1B")));
}

// A pipe that has no room left for the stream that writes into it.
class FullPipe {
 public:
  explicit FullPipe(bool blocks) : pipe_(make_pipe().value()) {
    const int descriptor = pipe_.write_end.get();
    EXPECT_TRUE(set_nonblocking(descriptor));
    const std::string page(PIPE_BUF, 'x');
    while (write(descriptor, page.data(), page.size()) > 0) written_ += page;
    EXPECT_EQ(fcntl(descriptor, F_SETFL, blocks ? 0 : O_NONBLOCK), 0);
    stream_ = fdopen(pipe_.write_end.release(), "w");
  }

  std::FILE* stream() { return stream_; }
  const std::string& written() const { return written_; }
  std::string read_some() const {
    char buffer[PIPE_BUF];
    const ssize_t count = read(pipe_.read_end.get(), buffer, sizeof buffer);
    return {buffer, count > 0 ? static_cast<std::size_t>(count) : 0};
  }
  // Until the stream is closed.
  std::string read_all() const {
    std::string text;
    for (std::string more; !(more = read_some()).empty();) text += more;
    return text;
  }

 private:
  Pipe pipe_;
  std::string written_;
  std::FILE* stream_ = nullptr;
};

TEST(Console, WaitsForTheReaderOfAFullPipe) {
  for (const bool blocks : {true, false}) {
    FullPipe pipe(blocks);
    std::string read_text;
    std::jthread reader([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      read_text = pipe.read_all();
    });
    Captured err;
    Console console(OutputForm::kText, pipe.stream(), err.stream(), nobody_asks);
    const std::string notice(200'000, 'y');
    console.notice(notice);
    EXPECT_FALSE(console.is_broken()) << blocks;
    std::fclose(pipe.stream());
    reader.join();
    EXPECT_EQ(read_text, pipe.written() + notice + "\n") << blocks;
  }
}

TEST(Console, GivesAReaderUpThatIsStuckWhenTheRunIsAskedToEndAndWaitsForItOnceAlone) {
  for (const bool blocks : {true, false}) {
    FullPipe pipe(blocks);
    std::atomic<bool> is_asked = false;
    const auto begin = std::chrono::steady_clock::now();
    std::jthread user([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(500));
      is_asked = true;
    });
    Captured err;
    Console console(
        OutputForm::kText, pipe.stream(), err.stream(), [&] { return is_asked.load(); },
        std::chrono::milliseconds(500));
    for (int line = 0; line < 20; ++line) console.notice("a line");
    const auto waited = std::chrono::steady_clock::now() - begin;
    EXPECT_TRUE(console.is_broken()) << blocks;
    EXPECT_GE(waited, std::chrono::milliseconds(800)) << blocks;
    EXPECT_LT(waited, std::chrono::seconds(5)) << blocks << ": 20 times the patience are 10 s";
    std::fclose(pipe.stream());
  }
}

TEST(Console, WaitsNoLongerForAReaderWhenTheRequestToEndHasBeenHeardAndThenWritesItNoMore) {
  FullPipe pipe(/*blocks=*/true);
  Captured err;
  Console console(OutputForm::kText, pipe.stream(), err.stream(), nobody_asks,
                  std::chrono::milliseconds(100));
  console.ending();
  console.notice("a line");
  EXPECT_TRUE(console.is_broken());
  EXPECT_THAT(err.text(), StartsWith("standard output: its reader is stuck"));
  const std::string first = pipe.read_some();
  console.notice("another, for which there is room");
  std::fclose(pipe.stream());
  EXPECT_EQ(first + pipe.read_all(), pipe.written());
}

TEST(Console, AReaderThatIsStuckCostsTheOtherStreamNothing) {
  FullPipe out(/*blocks=*/true);
  FullPipe err(/*blocks=*/true);
  int looks = 0;
  Console console(
      OutputForm::kJson, out.stream(), err.stream(), [&] { return looks++ == 0; },
      std::chrono::milliseconds(100));
  std::string read_text;
  std::jthread reader([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(500));  // until then `out` has been given up
    read_text = err.read_all();
  });
  v1alpha1::JobEvent event;
  event.set_reason("RankFailed");
  event.set_message("rank 1 died");
  console.event(event);
  EXPECT_TRUE(console.is_broken());
  std::fclose(err.stream());
  reader.join();
  EXPECT_THAT(read_text, StartsWith(err.written() + "standard output: "));
  EXPECT_THAT(read_text, HasSubstr("\nRankFailed: rank 1 died\n"));
  std::fclose(out.stream());
}

TEST(Console, IsNotBrokenByWhoeverDoesNotReadStandardError) {
  Captured out;
  FullPipe err(/*blocks=*/true);
  Console console(OutputForm::kJson, out.stream(), err.stream(), nobody_asks, std::chrono::milliseconds(100));
  console.ending();
  v1alpha1::JobEvent event;
  event.set_reason("RankFailed");
  console.event(event);
  EXPECT_FALSE(console.is_broken());
  EXPECT_THAT(out.text(), HasSubstr("RankFailed"));
  std::fclose(err.stream());
}

TEST(Console, TellsWhatIsWrongWithStandardOutputOnStandardError) {
  for (const OutputForm form : {OutputForm::kText, OutputForm::kJson}) {
    Captured out;
    Captured err;
    Console console(form, out.stream(), err.stream(), nobody_asks);
    console.output_trouble("stopping: nobody reads\n");
    EXPECT_THAT(out.text(), IsEmpty());
    EXPECT_EQ(err.text(), "stopping: nobody reads\n");
  }
}

TEST(Console, NoticesThatNobodyReadsAnyMore) {
  std::FILE* full = std::fopen("/dev/full", "w");
  ASSERT_NE(full, nullptr);
  Captured err;
  Console console(OutputForm::kJson, full, err.stream(), nobody_asks);
  EXPECT_FALSE(console.is_broken());
  console.step({}, {}, {});
  EXPECT_TRUE(console.is_broken());
  std::fclose(full);
}

}  // namespace
}  // namespace caravan::cli
