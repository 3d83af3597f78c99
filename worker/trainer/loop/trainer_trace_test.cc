// What the trainer has of a step that is traced, on a device of which the host sees only marks.
#include <fcntl.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <fstream>
#include <string>
#include <vector>

#include "caravan/v1alpha1/trace.pb.h"
#include "common/json.h"
#include "common/testing/temporary_folder.h"
#include "common/unique_fd.h"
#include "worker/trainer/loop/testing/tiny_options.h"
#include "worker/trainer/loop/trainer.h"
#include "worker/trainer/trace/testing/scripted_device.h"

namespace caravan::trainer {
namespace {

using v1alpha1::RankTrace;
using v1alpha1::TraceEvent;

constexpr double kMicrosecondsPerSecond = 1e6;

double microseconds_now() {
  return std::chrono::duration<double, std::micro>(SystemClock().now().time_since_epoch()).count();
}

// As llm.c has them.
std::string write_tokens(const test::TemporaryFolder& folder, int32_t count) {
  std::vector<int32_t> header(256);
  header[0] = 20240520;
  header[1] = 1;
  header[2] = count;
  std::string path = folder.path("train.bin");
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(header.data()), 1024);
  file << std::string(2 * static_cast<std::size_t>(count), '\0');
  return path;
}

class TrainerTrace : public testing::Test {
 protected:
  TrainerTrace() {
    options_.steps = 3;
    options_.data.path = write_tokens(folder_, 100);
    options_.checkpoint.path = {};  // none is written
    options_.trace_directory = folder_.path("traces");
  }

  RankTrace train(DeviceMarks* marks) {
    const UniqueFd nowhere(open("/dev/null", O_WRONLY | O_CLOEXEC));
    const Reporter reporter(nowhere.get());
    ActivityBoard board;
    MemoryLedger ledger;
    const CommandListener commands(/*fd=*/-1, board, reporter);
    Rank rank(options_, ledger, board, /*groups=*/{}, {.marks = marks});
    const Outcome trained = Trainer(rank, open_data(options_).value(), reporter, commands).train();
    EXPECT_TRUE(trained) << trained.error().message;
    return from_json<RankTrace>(test::contents(folder_.path("traces/rank-0.json"))).value();
  }

 private:
  const test::TemporaryFolder folder_;
  TrainerOptions options_ = tiny_options(folder_.path("states"));
};

// Of events whose times are whole seconds, which may be rounded.
void expect_nested(const RankTrace& trace) {
  std::vector<double> open_until;
  for (const TraceEvent& event : trace.trace_events()) {
    if (event.ph() != "X") continue;
    const double end = event.ts() + event.dur();
    const double slack = kMicrosecondsPerSecond / 2;
    while (!open_until.empty() && open_until.back() < event.ts() + slack) open_until.pop_back();
    if (!open_until.empty()) {
      EXPECT_LT(end, open_until.back() + slack) << event.name();
    }
    open_until.push_back(end);
  }
}

// The device comes to its marks a second apart: there are far more of them than the host took seconds.
TEST_F(TrainerTrace, OfADeviceHasItsTimesOnTheHostsClock) {
  ScriptedDevice device;
  device.seconds_before_mark = 1;
  const double before = microseconds_now();
  const RankTrace trace = train(&device);
  ASSERT_GT(trace.trace_events_size(), 4);
  const double step_began = trace.trace_events(4).ts();  // behind four names
  ASSERT_EQ(trace.trace_events(4).cat(), TraceEvent::step);
  EXPECT_GE(step_began, before + kMicrosecondsPerSecond) << "a mark behind the clock's first";
  EXPECT_LE(step_began, microseconds_now() + kMicrosecondsPerSecond);
  int ops = 0;
  for (const TraceEvent& event : trace.trace_events()) {
    if (event.ph() != "X") continue;
    ops += event.cat() == TraceEvent::forward || event.cat() == TraceEvent::backward ? 1 : 0;
    EXPECT_GE(event.dur(), kMicrosecondsPerSecond) << event.name();
    for (const double time : {event.ts() - step_began, event.dur()})
      EXPECT_NEAR(std::remainder(time, kMicrosecondsPerSecond), 0, 1) << event.name();
  }
  EXPECT_EQ(ops, 2);
  expect_nested(trace);
  EXPECT_EQ(trace.other_data().step(), 3);
}

TEST_F(TrainerTrace, OfTheHostHasItsTimes) {
  const double before = microseconds_now();
  const RankTrace trace = train(/*marks=*/nullptr);
  const double after = microseconds_now();
  for (const TraceEvent& event : trace.trace_events()) {
    if (event.ph() != "X") continue;
    EXPECT_GE(event.ts(), before) << event.name();
    EXPECT_LE(event.ts() + event.dur(), after) << event.name();
  }
}

}  // namespace
}  // namespace caravan::trainer
