#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>

#include "cli/arguments/choice.h"
#include "cli/commands.h"
#include "cli/run/checkpoint_lock.h"
#include "cli/run/console.h"
#include "cli/run/local_run.h"
#include "cli/run/prepare.h"
#include "cli/run/trace_directory.h"
#include "cli/run/work_directory.h"
#include "common/json.h"
#include "planner/explain/checkpoints.h"
#include "planner/explain/summary.h"

namespace caravan::cli {
namespace {

constexpr char kDescription[] =
    "Trains the job on this machine: plans the layout, starts the ranks, shows their progress.\n"
    "Takes the file that `kubectl apply` takes. Progress is text on a terminal and JSON lines otherwise.\n"
    "Exit codes: 0 done, 1 the job failed, 2 bad input, 3 the job does not fit, 130 interrupted.";

OutputForm output_form(const std::string& wanted) {
  if (!wanted.empty()) return wanted == "json" ? OutputForm::kJson : OutputForm::kText;
  return isatty(STDOUT_FILENO) == 1 ? OutputForm::kText : OutputForm::kJson;
}

std::string agent_program() {
  std::error_code ignored;
  return (std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path() / "caravan-agent").string();
}

// A reader of our output that went away is an error of write, and gRPC tells its errors to us, not to the
// user. Threads of ranks sleep while they wait: spinning made steps ten times slower on a busy machine.
void prepare_environment() {
  std::signal(SIGPIPE, SIG_IGN);
  setenv("GRPC_VERBOSITY", "NONE", /*overwrite=*/0);
  setenv("OMP_WAIT_POLICY", "PASSIVE", /*overwrite=*/0);
}

Status write_plan(const std::filesystem::path& path, const v1alpha1::JobPlan& job) {
  std::ofstream file(path);
  file << to_json(job, JsonLayout::kIndented) << '\n';
  file.close();
  if (!file) return bad_input(fmt::format("cannot write {}", path.string()));
  return {};
}

Result<PreparedRun> load_and_prepare(const RunOptions& options) {
  const Result<LoadedJob> loaded = load_job(options.job_file, options.sets);
  if (!loaded) return tl::unexpected(loaded.error());
  const Result<Machine> machine = inspect_machine();
  if (!machine) return tl::unexpected(machine.error());
  return prepare_run(*loaded, options, *machine);
}

// Empty where none is asked for.
Result<std::filesystem::path> trace_directory(const RunOptions& options, int ranks) {
  if (options.trace_directory.empty()) return {};
  return prepare_trace_directory(options.trace_directory, ranks);
}

LocalRunConfig configuration(const PreparedRun& run, const RunOptions& options, const WorkDirectory& folder,
                             const std::filesystem::path& traces) {
  return {.job_uid = run.job.job_uid(),
          .failure_policy = run.job.spec().failure_policy(),
          .figures = run.figures,
          .agents = {.work_directory = folder.path(),
                     .nodes = run.job.nodes(),
                     .threads_per_rank = run.threads_per_rank,
                     .metrics_port = options.metrics_port,
                     .log_every_seconds = options.log_every_seconds,
                     .launcher = getpid(),
                     .trace_directory = traces},
          .agent_program = agent_program()};
}

void introduce(const PreparedRun& run, const RunOptions& options, const CheckpointLock& lock,
               const WorkDirectory& folder, Console& console) {
  for (const std::string& notice : run.notices) console.notice(notice);
  if (!lock.notice().empty()) console.notice(lock.notice());
  console.plan(run.report, planner::plan_summary(run.report) +
                               planner::checkpoints_text(run.job.spec(), run.report.plan()));
  console.notice(fmt::format("logs of agents and ranks: {}", (folder.path() / "node-*.log").string()));
  if (!options.metrics_port) return;
  for (int node = 0; node < run.job.nodes(); ++node) {
    console.notice(
        fmt::format("metrics of node {}: http://127.0.0.1:{}/metrics", node, *options.metrics_port + node));
  }
}

Result<ExitCode> run_job(const RunOptions& options) {
  const Result<PreparedRun> run = load_and_prepare(options);
  if (!run) return tl::unexpected(run.error());
  Result<UserSignals> signals = UserSignals::catch_all();
  if (!signals) return tl::unexpected(signals.error());
  const auto lock = CheckpointLock::take(run->job.spec().checkpoint().path(), run->job.job_name());
  if (!lock) return tl::unexpected(lock.error());
  Result<WorkDirectory> folder = WorkDirectory::create(options.work_directory);
  if (!folder) return tl::unexpected(folder.error());
  const Result<std::filesystem::path> traces = trace_directory(options, run->job.plan().devices());
  if (!traces) return tl::unexpected(traces.error());
  const LocalRunConfig config = configuration(*run, options, *folder, *traces);
  if (Status written = write_plan(plan_file(config.agents), run->job); !written)
    return tl::unexpected(written.error());

  Console console(output_form(options.output), stdout, stderr);
  introduce(*run, options, *lock, *folder, console);
  Result<LocalRun> local_run = LocalRun::create(config, std::move(*signals), console);
  if (!local_run) return tl::unexpected(local_run.error());
  Result<RunSummary> summary = local_run->run();
  if (!summary) return tl::unexpected(summary.error());

  const auto code = static_cast<ExitCode>(summary->result.exit_code());
  if (code != ExitCode::kDone && code != ExitCode::kInterrupted) folder->keep();
  if (folder->is_kept()) summary->log_directory = folder->path().string();
  console.summary(*summary);
  return code;
}

void declare_options(CLI::App& command, RunOptions& options) {
  command.add_option("JOB", options.job_file, "Job file, YAML or JSON; - is standard input")->required();
  command
      .add_option("--nodes", options.nodes,
                  "Agents to start, as so many pods would; default: as spec.resources says")
      ->check(CLI::Range(1, 64))
      ->type_name("N");
  command.add_option("--volume", options.volumes, "Folder that stands in for a PersistentVolumeClaim")
      ->type_name("CLAIM=DIR")
      ->allow_extra_args(false);
  command
      .add_option(
          "--metrics-port", options.metrics_port,
          "Serve /metrics of node 0 on this port of 127.0.0.1, of node i on the i-th after it; default: off")
      ->check(CLI::Range(1, 65535))
      ->type_name("P");
  command.add_option("--set", options.sets, "Overrule a field of the file, such as spec.training.steps=10")
      ->type_name("PATH=VALUE")
      ->allow_extra_args(false);
  command
      .add_option(
          "--log-every", options.log_every_seconds,
          "Seconds from the line of one step in the log of node 0 to the next; 0: every step; default: 1")
      ->check(CLI::NonNegativeNumber)
      ->type_name("SECONDS");
  command
      .add_option("--work-directory", options.work_directory,
                  "Keep plan and logs here; default: a temporary folder, which stays only when the job fails")
      ->type_name("DIR");
  command
      .add_option("--trace", options.trace_directory,
                  "Have every rank write here what it did when in its last step: rank-<n>.json, for caravan "
                  "schedule --from, chrome://tracing and Perfetto")
      ->type_name("DIR");
  add_output_option(command, options.output, {"text", "json"},
                    "Text, or JSON lines; default: text on a terminal, json otherwise");
}

}  // namespace

void add_run_command(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("run", kDescription);
  const auto options = std::make_shared<RunOptions>();
  declare_options(*command, *options);
  command->callback([options, &action] {
    action = [options] {
      prepare_environment();
      return run_job(*options);
    };
  });
}

}  // namespace caravan::cli
