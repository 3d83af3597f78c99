#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <utility>

#include "cli/arguments/bounds.h"
#include "cli/arguments/choice.h"
#include "cli/commands.h"
#include "cli/page/run_page.h"
#include "cli/run/checkpoint_lock.h"
#include "cli/run/console.h"
#include "cli/run/execute.h"
#include "cli/run/job_options.h"
#include "cli/run/output_folders.h"
#include "cli/run/prepare.h"
#include "cli/run/user_signals.h"
#include "cli/run/work_directory.h"

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

// That the options name; they are absolute from then on.
Status make_output_folders(int ranks, RunOptions& options) {
  if (!options.trace_directory.empty()) {
    const auto traces = prepare_trace_folder(options.trace_directory, ranks);
    if (!traces) return tl::unexpected(traces.error());
    options.trace_directory = traces->string();
  }
  if (!options.event_folder.empty()) {
    const auto events = prepare_event_folder(options.event_folder);
    if (!events) return tl::unexpected(events.error());
    options.event_folder = events->string();
  }
  return {};
}

// Null where nobody wants it.
Result<std::unique_ptr<RunPage>> start_page(const RunOptions& options, const LoadedJob& loaded,
                                            const PreparedRun& run, const WorkDirectory& folder,
                                            Clock& clock) {
  if (options.page_address.empty()) return nullptr;
  return RunPage::start(options.page_address, loaded.job.metadata(), run, folder.path(), clock);
}

void introduce(const RunPage& page, Console& console) {
  console.page(page.url());
  if (!page.warning().empty()) console.notice(page.warning());
}

Result<ExitCode> run_job(RunOptions options) {
  const Result<LoadedJob> loaded = load_job(options.job_file, options.sets);
  if (!loaded) return tl::unexpected(loaded.error());
  const Result<PreparedRun> run = prepare_on_this_machine(*loaded, options);
  if (!run) return tl::unexpected(run.error());
  const Result<UserSignals> signals = UserSignals::catch_all();
  if (!signals) return tl::unexpected(signals.error());
  const auto lock = CheckpointLock::take(run->job.spec().checkpoint().path(), run->job.job_name());
  if (!lock) return tl::unexpected(lock.error());
  Result<WorkDirectory> folder = WorkDirectory::create(options.work_directory);
  if (!folder) return tl::unexpected(folder.error());
  SystemClock clock;
  const auto page = start_page(options, *loaded, *run, *folder, clock);
  if (!page) return tl::unexpected(page.error());
  if (Status made = make_output_folders(run->job.plan().devices(), options); !made)
    return tl::unexpected(made.error());

  Console console(output_form(options.output), stdout, stderr, UserSignals::end_is_asked);
  introduce(*run, options, lock->notice(), *folder, console);
  if (*page) introduce(**page, console);
  RunListener* listener = *page ? &(*page)->listener() : nullptr;
  Result<RunSummary> summary = execute(*run, options, *signals, *folder, console, listener);
  if (!summary) return tl::unexpected(summary.error());
  console.summary(*summary);
  if (*page) (*page)->end(summary->result, *signals);
  const auto code = static_cast<ExitCode>(summary->result.exit_code());
  // As unless_output_is_lost() has it, which does not hear of readers that are stuck.
  return code == ExitCode::kDone && console.is_broken() ? ExitCode::kJobFailed : code;
}

void declare_options(CLI::App& command, RunOptions& options) {
  declare_job_options(command, options);
  command
      .add_option(
          "--metrics-port", options.metrics_port,
          "Serve /metrics of node 0 on this port of 127.0.0.1, of node i on the i-th after it; default: off")
      ->check(CLI::Range(1, 65535))
      ->type_name("P");
  command
      .add_option(
          "--log-every", options.log_every_seconds,
          "Seconds from the line of one step in the log of node 0 to the next; 0: every step; default: the "
          "job's spec.logEverySeconds")
      ->check(bounds_of<v1alpha1::JobSpec>("logEverySeconds"))
      ->type_name("SECONDS");
  command
      .add_option("--trace", options.trace_directory,
                  "Have every rank write here what it did when in its last step: rank-<n>.json, for caravan "
                  "schedule --from, chrome://tracing and Perfetto")
      ->type_name("DIR");
  command
      .add_option("--tensorboard", options.event_folder,
                  "Write loss, speed and memory of every step here, for tensorboard --logdir; a run that "
                  "goes on from a checkpoint continues the curves of the one before")
      ->type_name("DIR");
  command.add_flag(
      "--page{127.0.0.1:0}", options.page_address,
      "Serve a page that shows the run in the browser, and print its address; --page=HOST:PORT: there, "
      "instead of at a free port of 127.0.0.1");
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
