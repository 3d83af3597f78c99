// Runs pipeline schedules through the trainer's executor, over Gloo on this machine, on ranks that sleep for
// as long as their ops take: how long a step really is, whatever the number of cores.
//
// Usage: schedule_sleepers STAGES MICRO_BATCHES UNIT_MILLISECONDS F B W
//
// F, B and W are what an op of a whole stage takes, in units. Prints a line for each schedule: its name, the
// seconds that it was simulated to take, those that it took, and those that a stage works.
#include <ATen/ops/empty.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "common/listen.h"
#include "planner/schedule/generate.h"
#include "planner/schedule/simulate.h"
#include "worker/trainer/comm/gloo/gloo_rendezvous.h"
#include "worker/trainer/pipeline/executor.h"

namespace caravan::bench {
namespace {

using Clock = std::chrono::steady_clock;
using planner::Op;
using planner::OpTimes;
using planner::OpType;
using planner::Schedule;
using planner::ScheduleKind;
using planner::ScheduleSpec;

// A sleep may end that much later than it should.
constexpr std::chrono::microseconds kOversleep(300);

class Sleeper final : public trainer::StageWork {
 public:
  Sleeper(const Schedule& schedule, const OpTimes& times, int stage)
      : map_(schedule.map()), times_(times), stage_(stage) {}

  at::Tensor boundary_buffer(const Op&) const override { return at::empty({1024}); }

  at::Tensor run(const Op& op, at::Tensor) override {
    const std::chrono::duration<double> seconds(times_.of(map_, stage_, op));
    const auto end = Clock::now() + std::chrono::duration_cast<Clock::duration>(seconds);
    std::this_thread::sleep_until(end - kOversleep);
    while (Clock::now() < end) {
    }
    return op.type == OpType::BackwardWeight ? at::Tensor() : at::empty({1024});
  }

 private:
  const planner::ChunkMap map_;
  const OpTimes& times_;
  const int stage_;
};

// Seconds from the moment at which all ranks are ready to the end of the last one.
double run(const Schedule& schedule, const OpTimes& times, int messages_under_way) {
  ListeningSocket listener = listen_on("127.0.0.1", "0").value();
  std::vector<double> seconds(schedule.stages);
  std::vector<std::jthread> ranks;
  ranks.reserve(schedule.stages);
  for (int stage = 0; stage < schedule.stages; ++stage) {
    ranks.emplace_back([&, stage] {
      trainer::GlooRendezvous rendezvous({.port = listener.port,
                                          .listen_fd = stage == 0 ? listener.fd.release() : -1,
                                          .network_interface = "lo",
                                          .rank = stage,
                                          .world_size = schedule.stages});
      const auto pipeline = rendezvous.form_group("pipeline", stage, schedule.stages);
      Sleeper work(schedule, times, stage);
      const auto actions = planner::add_transfers(schedule, stage, messages_under_way);
      pipeline->barrier();
      const auto begin = Clock::now();
      trainer::execute(actions, work, *pipeline);
      seconds[stage] = std::chrono::duration<double>(Clock::now() - begin).count();
      pipeline->barrier();
    });
  }
  ranks.clear();
  return std::ranges::max(seconds);
}

void measure(ScheduleSpec spec, const planner::PhaseTimes& stage) {
  if (spec.kind == ScheduleKind::ZeroBubbleAuto) spec.most_in_flight = spec.stages + spec.stages / 2;
  if (const auto status = planner::check_spec(spec); !status) {
    fmt::print(stderr, "{}\n", status.error().message);
    return;
  }
  const OpTimes times =
      planner::even_times(std::vector<planner::PhaseTimes>(spec.stages, stage), spec.map(), spec.segments);
  const Schedule schedule = planner::generate_schedule(spec, times);
  fmt::print("{} {} {} {}\n", planner::schedule_name(spec.kind), planner::simulate(schedule, times).makespan,
             run(schedule, times, planner::messages_under_way(spec.kind)),
             spec.micro_batches * stage.total());
  std::fflush(stdout);
}

}  // namespace
}  // namespace caravan::bench

int main(int argc, char** argv) {
  if (argc != 7) {
    fmt::print(stderr, "usage: schedule_sleepers STAGES MICRO_BATCHES UNIT_MILLISECONDS F B W\n");
    return 2;
  }
  // A process has one flight recorder, which groups of several ranks in it would write to at the same time.
  setenv("TORCH_FR_BUFFER_SIZE", "0", /*overwrite=*/1);
  const double unit = std::atof(argv[3]) / 1000;
  const caravan::planner::PhaseTimes stage{.forward = unit * std::atof(argv[4]),
                                           .backward_input = unit * std::atof(argv[5]),
                                           .backward_weight = unit * std::atof(argv[6])};
  for (const auto kind : caravan::planner::all_schedule_kinds()) {
    caravan::bench::measure(caravan::planner::smallest_spec(kind, std::atoi(argv[1]), std::atoi(argv[2])),
                            stage);
  }
}
