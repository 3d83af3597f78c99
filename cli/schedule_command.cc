#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/run/console_style.h"
#include "cli/schedule/schedule_json.h"
#include "cli/schedule/timeline_text.h"
#include "planner/explain/schedule_picture.h"
#include "planner/schedule/generate.h"

namespace caravan::cli {
namespace {

using planner::OpTimes;
using planner::Schedule;
using planner::ScheduleKind;
using planner::ScheduleSpec;
using planner::Simulation;

constexpr int64_t kMostUnits = 500'000;  // more are neither seen nor read

struct Options {
  std::string name;
  int stages = 1;
  int micro_batches = 1;
  std::optional<int> chunks;
  std::optional<int> segments;
  std::optional<int> hold;
  std::vector<double> times = {1, 1, 1};
  std::string output = "text";
};

std::vector<std::string> schedule_names() {
  std::vector<std::string> names;
  for (const ScheduleKind kind : planner::all_schedule_kinds())
    names.emplace_back(planner::schedule_name(kind));
  return names;
}

// What was not said is the least with which the schedule is itself.
ScheduleSpec spec_of(const Options& options) {
  ScheduleSpec spec = planner::smallest_spec(*planner::schedule_from_name(options.name), options.stages,
                                             options.micro_batches);
  spec.chunks = options.chunks.value_or(spec.chunks);
  spec.segments = options.segments.value_or(spec.segments);
  spec.most_in_flight = options.hold.value_or(spec.most_in_flight);
  return spec;
}

Status check(const Options& options, const ScheduleSpec& spec) {
  if (options.hold && spec.kind != ScheduleKind::ZeroBubbleAuto) {
    return bad_input(fmt::format("--hold is for {}; what {} holds follows from its size",
                                 planner::schedule_name(ScheduleKind::ZeroBubbleAuto), options.name));
  }
  for (const double time : options.times) {
    if (!std::isfinite(time) || time <= 0)
      return bad_input(fmt::format("--times: {} is no time; F,B,W are above 0, such as 1,1.2,0.8", time));
  }
  if (auto status = planner::check_spec(spec); !status) return status;
  const int64_t units = int64_t{spec.stages} * spec.micro_batches * spec.chunks * spec.segments;
  if (units <= kMostUnits) return {};
  return bad_input(
      fmt::format("{} stages x micro-batches x chunks x segments are too many to draw; {} are the most",
                  units, kMostUnits));
}

OpTimes times_of(const Options& options, const ScheduleSpec& spec) {
  const planner::PhaseTimes each{
      .forward = options.times[0], .backward_input = options.times[1], .backward_weight = options.times[2]};
  return planner::even_times(std::vector<planner::PhaseTimes>(spec.stages, each), spec.map(), spec.segments);
}

std::string title_of(const ScheduleSpec& spec) {
  std::string title = fmt::format("{}: {} stages, {} micro-batches", planner::schedule_name(spec.kind),
                                  spec.stages, spec.micro_batches);
  if (spec.chunks > 1) title += fmt::format(", {} chunks on each stage", spec.chunks);
  if (spec.segments > 1) title += fmt::format(", {} segments of a sequence", spec.segments);
  return title;
}

std::string performance_of(const Simulation& result) {
  return fmt::format(
      "time {:.6g}, bubble {:.6g} ({:.1f} %), idle between first and last op {:.6g}; micro-batches held: "
      "{:.4g}",
      result.makespan, result.bubble, 100 * result.bubble / result.makespan, result.span_bubble,
      fmt::join(result.peaks, " "));
}

void print_text(const ScheduleSpec& spec, const Schedule& schedule, const OpTimes& times,
                const Simulation& result) {
  const bool colour = style_for(terminal_facts(STDOUT_FILENO)).colour;
  fmt::print("{}\n{}\n\n{}\n", title_of(spec), performance_of(result),
             timeline_text(schedule, planner::time_ops(schedule, times),
                           {.width = output_width(), .colour = colour}));
  fmt::print("F forward, B backward{}, dots idle; behind it the number of the micro-batch{}{}\n",
             planner::splits_backward(spec.kind) ? " of the input, W gradients of the weights" : "",
             spec.segments > 1 ? ", the segment" : "", spec.chunks > 1 ? ", the letter of the chunk" : "");
}

Result<ExitCode> draw(const Options& options) {
  const ScheduleSpec spec = spec_of(options);
  if (auto status = check(options, spec); !status) return tl::unexpected(status.error());
  if (const std::string note = planner::caution(spec); !note.empty()) fmt::print(stderr, "{}\n", note);
  const OpTimes times = times_of(options, spec);
  const Schedule schedule = planner::generate_schedule(spec, times);
  const Simulation result = planner::simulate(schedule, times);
  if (options.output == "json") {
    fmt::print("{}\n", schedule_json(schedule, result));
  } else if (options.output == "svg") {
    fmt::print("{}", planner::draw_schedule(title_of(spec), performance_of(result),
                                            planner::time_ops(schedule, times)));
  } else {
    print_text(spec, schedule, times, result);
  }
  return ExitCode::kDone;
}

}  // namespace

void add_schedule_command(CLI::App& app, Action& action) {
  const auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "schedule", "Draws what every stage of a pipeline does when, and says what that costs.");
  command->add_option("NAME", options->name, "Which pipeline schedule")
      ->required()
      ->check(CLI::IsMember(schedule_names()));
  command->add_option("-p,--stages", options->stages, "Stages of the pipeline")
      ->required()
      ->check(CLI::Range(1, 256));
  command->add_option("-m,--micro-batches", options->micro_batches, "Micro-batches of a step")
      ->required()
      ->check(CLI::Range(1, 4096));
  command->add_option("-v,--chunks", options->chunks, "Chunks of a stage's layers (Interleaved)")
      ->check(CLI::Range(1, 26));
  command->add_option("-k,--segments", options->segments, "Segments of a sequence (Seq1F1B, SeqZBH1)")
      ->check(CLI::Range(1, 64));
  command->add_option("--hold", options->hold, "Micro-batches that a stage may hold (ZBAuto)")
      ->check(CLI::Range(1, 4096));
  command
      ->add_option("--times", options->times,
                   "F,B,W: what forward, backward and gradients of the weights of one micro-batch take")
      ->delimiter(',')
      ->expected(3);
  command->add_option("-o,--output", options->output, "text, svg or json")
      ->check(CLI::IsMember({"text", "svg", "json"}));
  command->callback([options, &action] { action = [options] { return draw(*options); }; });
}

}  // namespace caravan::cli
