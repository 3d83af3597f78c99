// What a stream keeps while gRPC sends, and how long a client waits before it tries again.
#include <gmock/gmock.h>

#include <latch>
#include <set>
#include <thread>

#include "common/bidi_stream.h"
#include "worker/agent/backoff.h"
#include "worker/agent/report_backlog.h"

namespace caravan::agent {
namespace {

using namespace std::chrono_literals;
using v1alpha1::JobReport;

JobReport report_of_step(int number) {
  JobReport report;
  report.mutable_step()->set_step(number);
  return report;
}

// In gRPC's place: holds on to the message until the test says that it is sent.
struct Wire {
  virtual ~Wire() = default;
  void StartRead(JobReport*) {}
  void StartWrite(const JobReport* message) { sending = message; }
  virtual void OnReadDone(bool) {}
  virtual void OnWriteDone(bool) {}
  const JobReport* sending = nullptr;
};

struct Sender : BidiStream<Wire, JobReport, JobReport, ReportQueue> {
  explicit Sender(std::size_t max_steps) : BidiStream(ReportQueue(max_steps)) {}
  Wire& wire() { return *this; }
  // The message that was on its way, which now is sent.
  JobReport sent() {
    const JobReport message = *sending;
    wire().OnWriteDone(true);
    return message;
  }
  void received(JobReport&) override {}
  void broken() override {}
};

TEST(Stream, WhatIsBeingSentStaysWhileTheQueueDropsWhatCameAfterIt) {
  Sender sender(3);
  JobReport first;
  first.mutable_event()->set_message(std::string(100, 'm'));
  sender.send(first);
  const JobReport* const on_its_way = sender.sending;
  for (int number = 1; number <= 10'000; ++number) sender.send(report_of_step(number));
  EXPECT_EQ(sender.sending, on_its_way);
  EXPECT_EQ(sender.sent().event().message(), std::string(100, 'm'));
  EXPECT_EQ(sender.sent().step().step(), 9'998);
  EXPECT_EQ(sender.sent().step().step(), 9'999);
  EXPECT_EQ(sender.sent().step().step(), 10'000);
}

TEST(Stream, WhoWaitsUntilAllIsSentIsToldWhenItBreaks) {
  for (int round = 0; round < 100; ++round) {
    Sender sender(3);
    for (const int number : {1, 2}) sender.send(report_of_step(number));
    sender.wire().OnWriteDone(false);  // and so the second message is not sent either
    std::latch begun(1);
    const std::jthread waiting([&] {
      begun.count_down();
      sender.wait_until_sent(1h);  // the test's own time limit is the end of waiting
    });
    begun.wait();
    sender.wire().OnReadDone(false);
  }
}

TEST(Backoff, DoublesUpToTheLongestAndNoTwoAreInStep) {
  Backoff pauses(100ms, 1000ms, 7);
  for (const auto most : {100ms, 200ms, 400ms, 800ms, 1000ms, 1000ms}) {
    const auto pause = pauses.next();
    EXPECT_GE(pause, most / 2);
    EXPECT_LE(pause, most);
  }
  pauses.reset();
  EXPECT_LE(pauses.next(), 100ms);
  std::set<std::chrono::milliseconds> firsts;
  for (unsigned seed = 1; seed <= 100; ++seed) firsts.insert(Backoff(1000ms, 1000ms, seed).next());
  EXPECT_GT(firsts.size(), 50U);
}

}  // namespace
}  // namespace caravan::agent
