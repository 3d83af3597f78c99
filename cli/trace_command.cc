#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "caravan/v1alpha1/trace.pb.h"
#include "cli/arguments/choice.h"
#include "cli/commands.h"
#include "cli/run/execute.h"
#include "cli/run/job_options.h"
#include "cli/run/output_folders.h"
#include "cli/schedule/trace_text.h"
#include "cli/trace/merged_trace.h"
#include "cli/trace/step_profile.h"
#include "common/json.h"
#include "common/standard_stream.h"
#include "report_text/step_line.h"

namespace caravan::cli {
namespace {

namespace fs = std::filesystem;
using v1alpha1::RankTrace;

constexpr char kTraceDescription[] =
    "Runs a few steps of the job on this machine and shows where the time of the last one went.\n"
    "Writes what every rank did in it as one file for ui.perfetto.dev and chrome://tracing. Reads and writes "
    "no checkpoints of the job. Progress goes to standard error.";

struct TraceOptions {
  RunOptions run;
  int steps = 5;
  std::string file;
  std::string output = "text";
};

// Nothing is read there or written, so its claim needs no folder here.
void free_claim_of_checkpoints(const std::vector<std::string>& volumes, v1alpha1::JobSpec& spec) {
  if (!spec.has_checkpoint()) return;
  const auto stands_for_it = [begin = spec.checkpoint().claim_name() + '='](const std::string& volume) {
    return volume.starts_with(begin);
  };
  if (std::ranges::none_of(volumes, stands_for_it)) spec.mutable_checkpoint()->clear_claim_name();
}

// Steps like those of the job, up to its learning rate, and nothing beside them.
void shorten(int steps, PreparedRun& run) {
  v1alpha1::Training& training = *run.job.mutable_spec()->mutable_training();
  training.set_steps(steps);
  training.mutable_optimizer()->set_warmup_steps(steps);
  training.mutable_evaluation()->set_every_steps(0);
  run.figures = figures_of(run.job);
}

// Its plan is that of the job.
Result<PreparedRun> prepare(TraceOptions& options) {
  Result<LoadedJob> loaded = load_job(options.run.job_file, options.run.sets);
  if (!loaded) return tl::unexpected(loaded.error());
  free_claim_of_checkpoints(options.run.volumes, *loaded->job.mutable_spec());
  options.run.keeps_checkpoints = false;
  Result<PreparedRun> run = prepare_on_this_machine(*loaded, options.run);
  if (run) shorten(options.steps, *run);
  return run;
}

// An earlier trace may be replaced, and nothing else: such as the job's own file.
bool is_a_trace(const std::string& path) {
  constexpr std::string_view kBeginning = R"({"traceEvents":)";
  std::string beginning(kBeginning.size(), ' ');
  std::ifstream(path).read(beginning.data(), std::ssize(beginning));
  return beginning == kBeginning;
}

// Before anything runs; leaves a file that was there as it is.
Status check_writable(const std::string& path) {
  if (path == kStandardStream) return bad_input("--to: " + refusal_of_standard_output("a trace"));
  std::error_code error;
  if (fs::is_regular_file(path, error) && fs::file_size(path, error) > 0 && !is_a_trace(path))
    return bad_input(fmt::format("--to: '{}' exists already and is no trace; give another name", path));
  if (const auto why = why_unwritable(path))
    return bad_input(fmt::format("--to: cannot write '{}': {}", path, *why));
  return {};
}

Status write_file(const std::string& path, const RankTrace& trace) {
  std::ofstream file(path, std::ios::binary);
  file << to_json(trace) << '\n';
  file.close();
  if (!file) return bad_input(fmt::format("--to: '{}' cannot be written: is there room?", path));
  return {};
}

Result<std::vector<RankTrace>> read_traces_of(const fs::path& folder, int ranks) {
  std::vector<RankTrace> traces;
  for (int rank = 0; rank < ranks; ++rank) {
    Result<RankTrace> trace =
        read_trace((folder / fmt::format("rank-{}.json", rank)).string(), read_trace_file);
    if (!trace) return tl::unexpected(trace.error());
    traces.push_back(*std::move(trace));
  }
  return traces;
}

void print(const v1alpha1::StepProfile& profile, const std::string& form) {
  if (form == "json") {
    fmt::print("{}\n", to_json(profile));
  } else {
    fmt::print("{}\nall events: {}, for ui.perfetto.dev or chrome://tracing\n", profile_text(profile),
               profile.trace());
  }
}

Result<ExitCode> show(const fs::path& folder, int ranks, const TraceOptions& options) {
  const Result<std::vector<RankTrace>> traces = read_traces_of(folder, ranks);
  if (!traces) return tl::unexpected(traces.error());
  Result<v1alpha1::StepProfile> profile = profile_of(*traces);
  if (!profile) return tl::unexpected(profile.error());
  if (Status written = write_file(options.file, merged(*traces)); !written)
    return tl::unexpected(written.error());
  profile->set_trace(options.file);
  print(*profile, options.output);
  return ExitCode::kDone;
}

Result<ExitCode> trace_job(TraceOptions options) {
  if (Status writable = check_writable(options.file); !writable) return tl::unexpected(writable.error());
  const Result<PreparedRun> run = prepare(options);
  if (!run) return tl::unexpected(run.error());
  const Result<UserSignals> signals = UserSignals::catch_all();
  if (!signals) return tl::unexpected(signals.error());
  Result<WorkDirectory> folder = WorkDirectory::create(options.run.work_directory);
  if (!folder) return tl::unexpected(folder.error());
  options.run.trace_directory = fs::absolute(folder->path() / "traces").string();

  Console console(OutputForm::kText, stderr, stderr, UserSignals::end_is_asked);
  introduce(*run, options.run, /*lock_notice=*/"", *folder, console);
  const Result<RunSummary> summary = execute(*run, options.run, *signals, *folder, console);
  if (!summary) return tl::unexpected(summary.error());
  const auto code = static_cast<ExitCode>(summary->result.exit_code());
  if (code == ExitCode::kDone) return show(options.run.trace_directory, run->job.plan().devices(), options);
  console.summary(*summary);
  return code;
}

}  // namespace

void add_trace_command(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("trace", kTraceDescription);
  const auto options = std::make_shared<TraceOptions>();
  declare_job_options(*command, options->run);
  command
      ->add_option("--steps", options->steps,
                   "Steps to run; the last one is traced, those before it warm up; default: 5")
      ->check(CLI::Range(1, 1'000'000))
      ->type_name("N");
  command->add_option("--to", options->file, "Trace file to write")->required()->type_name("FILE");
  add_output_option(*command, options->output, {"text", "json"}, "Form of the table");
  command->callback([options, &action] {
    action = [options] {
      prepare_environment();
      return trace_job(*options);
    };
  });
}

}  // namespace caravan::cli
