#include "cli/run/execute.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <utility>

#include "cli/arguments/shell_words.h"
#include "cli/run/local_run.h"
#include "cli/run/machine.h"
#include "common/json.h"
#include "common/processors.h"
#include "common/unique_fd.h"
#include "planner/explain/checkpoints.h"
#include "planner/explain/summary.h"
#include "planner/job_shape.h"

namespace caravan::cli {
namespace {

std::string agent_program() {
  std::error_code ignored;
  return (std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path() / "caravan-agent").string();
}

// As agents read it.
v1alpha1::JobPlan executed_job(const PreparedRun& run, const RunOptions& options) {
  v1alpha1::JobPlan job = run.job;
  if (!options.keeps_checkpoints) job.mutable_spec()->clear_checkpoint();
  return job;
}

// Whole or not at all: agents may be reading the one before.
Status write_plan(const std::filesystem::path& path, const v1alpha1::JobPlan& job) {
  const std::string written = path.string() + ".new";
  const std::string text = to_json(job, JsonLayout::kIndented) + '\n';
  UniqueFd file(open(written.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600));
  const bool is_open = file && fchmod(file.get(), 0600) == 0;
  if (is_open) errno = ENOSPC;  // which a write that is cut short does not say
  const bool is_written = is_open && ::write(file.get(), text.data(), text.size()) == std::ssize(text) &&
                          close(file.release()) == 0 && std::rename(written.c_str(), path.c_str()) == 0;
  if (!is_written) return bad_input(fmt::format("cannot write {}: {}", path.string(), std::strerror(errno)));
  return {};
}

void show_plan(const PreparedRun& run, const RunOptions& options, Console& console) {
  const int width = console.width();
  std::string text = planner::plan_summary(run.report, width);
  if (options.keeps_checkpoints) text += planner::checkpoints_text(run.job.spec(), run.report.plan(), width);
  console.plan(run.report, text);
}

// A part of this machine for each node, by the ranks that it has; none where ranks are more than processors.
std::vector<std::vector<int>> processors_of_nodes(const PreparedRun& run) {
  const std::vector<int> allowed = allowed_processors();
  const int ranks = run.job.plan().devices();
  const int ranks_per_node = (ranks + run.job.nodes() - 1) / run.job.nodes();
  if (static_cast<int>(allowed.size()) < ranks * run.facts.threads_per_rank) return {};
  std::vector<std::vector<int>> nodes(static_cast<std::size_t>(run.job.nodes()));
  const std::vector<std::vector<int>> of_ranks = share_out(allowed, ranks);
  for (int rank = 0; rank < ranks; ++rank) {
    std::vector<int>& node = nodes[static_cast<std::size_t>(rank / ranks_per_node)];
    const std::vector<int>& own = of_ranks[static_cast<std::size_t>(rank)];
    node.insert(node.end(), own.begin(), own.end());
  }
  return nodes;
}

LocalRunConfig configuration(const PreparedRun& run, const RunOptions& options, const WorkDirectory& folder) {
  return {.job_uid = run.job.job_uid(),
          .failure_policy = run.job.spec().failure_policy(),
          .figures = run.figures,
          .agents = {.work_directory = folder.path(),
                     .socket_directory = folder.sockets(),
                     .nodes = run.job.nodes(),
                     .threads_per_rank = run.facts.threads_per_rank,
                     .processors = processors_of_nodes(run),
                     .gpus = share_gpus(run.gpus, planner::shape_of(run.job)),
                     .metrics_port = options.metrics_port,
                     .launcher = getpid(),
                     .trace_directory = options.trace_directory,
                     .event_folder = options.event_folder},
          .agent_program = agent_program(),
          .writes_checkpoints = options.keeps_checkpoints && run.job.spec().has_checkpoint()};
}

}  // namespace

// A reader of our output that went away is an error of write.
void prepare_environment() {
  std::signal(SIGPIPE, SIG_IGN);
}

Result<PreparedRun> prepare_on_this_machine(const LoadedJob& loaded, const RunOptions& options) {
  const Result<Machine> machine = inspect_machine();
  if (!machine) return tl::unexpected(machine.error());
  return prepare_run(loaded, options, *machine);
}

void introduce(const PreparedRun& run, const RunOptions& options, const std::string& lock_notice,
               const WorkDirectory& folder, Console& console) {
  for (const std::string& notice : run.notices) console.notice(notice);
  if (!lock_notice.empty()) console.notice(lock_notice);
  show_plan(run, options, console);
  console.notice(fmt::format("logs of agents and ranks: {}", (folder.path() / "node-*.log").string()));
  if (!options.event_folder.empty())
    console.notice(fmt::format("curves: tensorboard --logdir {}", shell_path(options.event_folder)));
  if (!options.metrics_port) return;
  for (int node = 0; node < run.job.nodes(); ++node) {
    console.notice(
        fmt::format("metrics of node {}: http://127.0.0.1:{}/metrics", node, *options.metrics_port + node));
  }
}

Result<RunSummary> execute(const PreparedRun& run, const RunOptions& options, const UserSignals& signals,
                           WorkDirectory& folder, Console& console, RunListener* listener) {
  LocalRunConfig config = configuration(run, options, folder);
  config.listener = listener;
  config.plan_again = [&, listener, path = plan_file(config.agents)](const auto& correction) {
    return plan_again(run, correction).and_then([&](const PreparedRun& next) -> Result<RunFigures> {
      if (Status written = write_plan(path, executed_job(next, options)); !written)
        return tl::unexpected(written.error());
      show_plan(next, options, console);
      if (listener != nullptr) listener->planned(next.report);
      return next.figures;
    });
  };
  if (Status written = write_plan(plan_file(config.agents), executed_job(run, options)); !written)
    return tl::unexpected(written.error());
  Result<LocalRun> local_run = LocalRun::create(config, signals, console);
  if (!local_run) return tl::unexpected(local_run.error());
  Result<RunSummary> summary = local_run->run();
  if (!summary) return tl::unexpected(summary.error());

  const auto code = static_cast<ExitCode>(summary->result.exit_code());
  if (code != ExitCode::kDone && code != ExitCode::kInterrupted) folder.keep();
  if (folder.is_kept()) summary->log_directory = folder.path().string();
  return summary;
}

}  // namespace caravan::cli
