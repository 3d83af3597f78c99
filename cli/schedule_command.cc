#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/arguments/choice.h"
#include "cli/commands.h"
#include "cli/schedule/captions.h"
#include "cli/schedule/comparison.h"
#include "cli/schedule/schedule_json.h"
#include "cli/schedule/timeline_text.h"
#include "cli/schedule/trace_reader.h"
#include "cli/schedule/trace_text.h"
#include "cli/terminal.h"
#include "common/readable_percent.h"
#include "planner/explain/schedule_picture.h"
#include "planner/schedule/generate.h"

namespace caravan::cli {
namespace {

using planner::OpTimes;
using planner::Schedule;
using planner::ScheduleKind;
using planner::ScheduleSpec;
using planner::Simulation;

// In whatever unit; beyond them nothing can be drawn, and sums lose what is short.
constexpr double kShortestTime = 1e-9;
constexpr double kLongestTime = 1e9;

struct ScheduleOptions {
  std::string name;
  int stages = 1;
  int micro_batches = 1;
  std::optional<int> chunks;
  std::optional<int> segments;
  std::optional<int> hold;
  std::vector<double> times = {1, 1, 1};
  std::optional<std::string> traces;  // the folder of an executed schedule; absent: one is generated
  std::string output = "text";
};

std::vector<std::string> schedule_names() {
  std::vector<std::string> names;
  for (const ScheduleKind kind : planner::all_schedule_kinds())
    names.emplace_back(planner::schedule_name(kind));
  return names;
}

// What was not said is the least with which the schedule is itself.
ScheduleSpec spec_of(const ScheduleOptions& options) {
  ScheduleSpec spec = planner::smallest_spec(*planner::schedule_from_name(options.name), options.stages,
                                             options.micro_batches);
  spec.chunks = options.chunks.value_or(spec.chunks);
  spec.segments = options.segments.value_or(spec.segments);
  spec.most_in_flight = options.hold.value_or(spec.most_in_flight);
  return spec;
}

Status check(const ScheduleOptions& options, const ScheduleSpec& spec) {
  if (options.hold && spec.kind != ScheduleKind::ZeroBubbleAuto) {
    return bad_input(fmt::format("--hold is for {}; what {} holds follows from its size",
                                 planner::schedule_name(ScheduleKind::ZeroBubbleAuto), options.name));
  }
  for (const double time : options.times) {
    if (!(time >= kShortestTime && time <= kLongestTime))
      return bad_input(fmt::format("--times: {} is no time; F,B,W are from {} to {}, such as 1,1.2,0.8", time,
                                   kShortestTime, kLongestTime));
  }
  if (auto status = planner::check_spec(spec); !status) return status;
  return check_drawable(spec);
}

OpTimes times_of(const ScheduleOptions& options, const ScheduleSpec& spec) {
  const planner::PhaseTimes each{
      .forward = options.times[0], .backward_input = options.times[1], .backward_weight = options.times[2]};
  return planner::even_times(std::vector<planner::PhaseTimes>(spec.stages, each), spec.map(), spec.segments);
}

std::string performance_of(const Simulation& result) {
  return fmt::format(
      "time {:.6g}, bubble {:.6g} ({}), idle between first and last op {:.6g}; micro-batches held: "
      "{:.4g}",
      result.makespan, result.bubble, readable_percent(result.bubble / result.makespan), result.span_bubble,
      fmt::join(result.peaks, " "));
}

TimelineStyle terminal_style() {
  return {.width = output_width(), .colour = style_for(terminal_facts(STDOUT_FILENO)).colour};
}

void print_text(const ScheduleSpec& spec, const Schedule& schedule, const OpTimes& times,
                const Simulation& result) {
  fmt::print("{}\n{}\n\n{}\n", title_of(spec), performance_of(result),
             timeline_text(schedule, planner::time_ops(schedule, times), terminal_style()));
  fmt::print("{}\n", legend_of(spec));
}

Result<ExitCode> draw(const ScheduleOptions& options) {
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

Result<ExitCode> draw_executed(const ScheduleOptions& options) {
  Result<ExecutedSchedule> executed = read_traces(*options.traces, read_trace_file);
  if (!executed) return tl::unexpected(executed.error());
  const Comparison comparison = compare(*std::move(executed));
  if (options.output == "json") {
    fmt::print("{}\n", comparison_json(comparison));
  } else if (options.output == "svg") {
    fmt::print("{}", comparison_picture(comparison));
  } else {
    fmt::print("{}", comparison_text(comparison, terminal_style()));
  }
  return ExitCode::kDone;
}

// A schedule is either described or executed.
void require_one_source(const CLI::App& command) {
  const bool from_traces = command.count("--from") > 0;
  if (from_traces) {
    for (const char* option :
         {"NAME", "--stages", "--micro-batches", "--chunks", "--segments", "--hold", "--times"}) {
      if (command.count(option) > 0)
        throw CLI::ValidationError(fmt::format("--from: {} follows from the traces; leave it out", option));
    }
    return;
  }
  for (const char* option : {"NAME", "--stages", "--micro-batches"}) {
    if (command.count(option) == 0) throw CLI::RequiredError(option);
  }
}

}  // namespace

void add_schedule_command(CLI::App& app, Action& action) {
  const auto options = std::make_shared<ScheduleOptions>();
  CLI::App* command = app.add_subcommand("schedule",
                                         "Draws what every stage of a pipeline does when, and says what that "
                                         "costs: of a schedule, NAME -p -m, or "
                                         "of what a run executed, --from.");
  command->add_option("NAME", options->name, "Which pipeline schedule")->check(one_of(schedule_names()));
  command->add_option("-p,--stages", options->stages, "Stages of the pipeline")
      ->check(CLI::Range(1, kMostStages));
  command->add_option("-m,--micro-batches", options->micro_batches, "Micro-batches of a step")
      ->check(CLI::Range(1, kMostMicroBatches));
  command->add_option("-v,--chunks", options->chunks, "Chunks of a stage's layers (Interleaved)")
      ->check(CLI::Range(1, kMostChunks));
  command->add_option("-k,--segments", options->segments, "Segments of a sequence (Seq1F1B, SeqZBH1)")
      ->check(CLI::Range(1, kMostSegments));
  command->add_option("--hold", options->hold, "Micro-batches that a stage may hold (ZBAuto)")
      ->check(CLI::Range(1, kMostMicroBatches));
  command
      ->add_option("--times", options->times,
                   "F,B,W: what forward, backward and gradients of the weights of one micro-batch take")
      ->delimiter(',')
      ->expected(3);
  command
      ->add_option(
          "--from", options->traces,
          "The folder of caravan run --trace: draws the step that ran, and below it what the same schedule "
          "would take if every op took its mean time")
      ->type_name("DIR");
  add_output_option(*command, options->output, {"text", "json", "svg"}, "Form of what is printed");
  command->callback([command, options, &action] {
    require_one_source(*command);
    action = [options] { return options->traces ? draw_executed(*options) : draw(*options); };
  });
}

}  // namespace caravan::cli
