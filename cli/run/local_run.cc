#include "cli/run/local_run.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "policy/memory_shortage.h"
#include "proto/caravan/v1alpha1/reasons.h"

namespace caravan::cli {
namespace {

using namespace std::chrono_literals;

// How long a result may be behind the agents that end with it, and agents behind the result.
constexpr auto kPatience = 10s;
constexpr auto kShortPatience = 2s;
constexpr auto kLookAgain = 200ms;

Result<UniqueFd> open_log(const std::filesystem::path& path) {
  UniqueFd log(open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!log || fchmod(log.get(), 0600) != 0)
    return bad_input(fmt::format("cannot write {}: {}", path.string(), std::strerror(errno)));
  return log;
}

}  // namespace

Result<LocalRun> LocalRun::create(LocalRunConfig config, const UserSignals& signals, Console& console) {
  Result<ReportServer> reports = ReportServer::start(reports_address(config.agents));
  if (!reports) return tl::unexpected(reports.error());
  return LocalRun(std::move(config), console, std::move(*reports), signals);
}

LocalRun::LocalRun(LocalRunConfig config, Console& console, ReportServer reports, const UserSignals& signals)
    : config_(std::move(config)),
      console_(console),
      reports_(std::move(reports)),
      signals_(signals),
      agents_(static_cast<std::size_t>(config_.agents.nodes)),
      starts_due_(agents_.size(), start_),
      figures_(config_.figures) {}

Result<RunSummary> LocalRun::run() {
  while (!result_) {
    if (Status started = start_agents_that_are_due(); !started) return tl::unexpected(started.error());
    wait_for_something();
    handle_signals();
    handle_reports();
    handle_agent_exits();
    handle_silence();
  }
  let_agents_end();
  agents_.clear();
  orphans_.end();
  return RunSummary{.result = *result_,
                    .tally = tally_,
                    .figures = figures_,
                    .wall_seconds = std::chrono::duration<double>(Clock::now() - start_).count()};
}

Status LocalRun::start_agents_that_are_due() {
  for (int node = 0; node < config_.agents.nodes; ++node) {
    auto& due = starts_due_[static_cast<std::size_t>(node)];
    if (!due || Clock::now() < *due) continue;
    due.reset();
    if (Status started = start_agent(node); !started) return started;
  }
  return {};
}

Status LocalRun::start_agent(int node) {
  const Result<UniqueFd> log = open_log(agent_log(config_.agents, node));
  if (!log) return tl::unexpected(log.error());
  const AgentStart start{.node = node,
                         .first_attempt = progress_.last_attempt + 1,
                         .restarts = restarts_,
                         .counted_restarts = progress_.budget.used,
                         .window_age_seconds = window_age_seconds(),
                         .short_attempts = progress_.short_attempts,
                         .elapsed_seconds = elapsed_seconds()};
  Result<Process> agent = Process::spawn({.program = config_.agent_program,
                                          .arguments = agent_arguments(config_.agents, start),
                                          .environment = agent_environment(config_.agents, node),
                                          .stdout_fd = log->get(),
                                          .stderr_fd = log->get()});
  if (!agent) return tl::unexpected(agent.error());
  agents_[static_cast<std::size_t>(node)].emplace(std::move(*agent));
  return {};
}

void LocalRun::wait_for_something() const {
  std::vector<pollfd> descriptors = {{signals_.descriptor.get(), POLLIN, 0},
                                     {reports_.descriptor(), POLLIN, 0}};
  for (const auto& agent : agents_) {
    if (agent) descriptors.push_back({agent->pidfd(), POLLIN, 0});
  }
  poll(descriptors.data(), descriptors.size(),
       static_cast<int>(std::chrono::milliseconds(kLookAgain).count()));
}

void LocalRun::handle_signals() {
  while (const auto signal = read_signal(signals_.descriptor.get())) {
    if (*signal == SIGUSR1) {
      save();
      continue;
    }
    if (stopping_) at_once_ = true;
    stop();
  }
  if (console_.is_broken() && !stopping_) {
    console_.ending();
    console_.output_trouble(
        "stopping: standard output takes no more lines; its reader has gone, or there is no room\n");
    stop();
  }
  if (at_once_ && !result_)
    finish(reasons::kInterrupted, reasons::kStoppedByUser, "stopped at once by a second signal",
           ExitCode::kInterrupted);
}

void LocalRun::save() {
  if (!config_.writes_checkpoints)
    return console_.notice(
        "no checkpoint is written: caravan run of a job with spec.checkpoint has a place for one");
  save_wish_ = fmt::format("{}/{}", config_.job_uid, ++saves_asked_);
  pass_wish();
}

// Where nobody hears it now, whoever starts the next attempt will.
void LocalRun::pass_wish() {
  if (!save_wish_) return;
  v1alpha1::ReportCommand command;
  command.set_save(true);
  command.set_request(*save_wish_);
  if (!reports_.send(command)) console_.notice("the checkpoint is written when the ranks train");
}

void LocalRun::handle(const v1alpha1::CheckpointReport& report) {
  if (save_wish_ == report.request()) save_wish_.reset();
  if (report.outcome() == v1alpha1::CheckpointReport::Answered) return;
  if (report.outcome() == v1alpha1::CheckpointReport::Resumed) tally_.resume_after(report.step());
  console_.checkpoint(report);
}

void LocalRun::stop() {
  if (stopping_) return;
  stopping_ = true;
  console_.ending();
  console_.notice("stopping after the step that runs; interrupt again to stop at once");
  const bool has_no_coordinator = starts_due_.front().has_value();
  if (has_no_coordinator)
    return finish(reasons::kInterrupted, reasons::kStoppedByUser, "stopped while no rank trained",
                  ExitCode::kInterrupted);
  v1alpha1::ReportCommand command;
  command.set_stop(true);
  if (reports_.send(command)) return;
  for (const auto& agent : agents_) {
    if (agent) agent->signal_group(SIGTERM);
  }
}

void LocalRun::handle_reports() {
  for (const v1alpha1::JobReport& report : reports_.take()) handle(report);
}

void LocalRun::handle(const v1alpha1::JobReport& report) {
  using Report = v1alpha1::JobReport;
  if (config_.listener != nullptr) config_.listener->reported(report);
  switch (report.report_case()) {
    case Report::kAttemptStarted:
      progress_.last_attempt = std::max(progress_.last_attempt, report.attempt_started().attempt());
      progress_.short_attempts = report.attempt_started().short_attempts();
      progress_.attempt_since = since_epoch();
      progress_.made_step = false;
      pass_wish();
      break;
    case Report::kStep:
      progress_.made_step = true;
      tally_.add(report.step());
      console_.step(report.step(), figures_, tally_);
      break;
    case Report::kEvent:
      if (report.event().restarting()) count_restart(report.event().counts());
      console_.event(report.event());
      answer_shortage(report.event());
      break;
    case Report::kCheckpoint:
      handle(report.checkpoint().report());
      break;
    case Report::kResult: {
      v1alpha1::ReportCommand command;
      command.set_acknowledge_result(true);
      reports_.send(command);
      if (!result_) result_ = report.result();
      break;
    }
    case Report::kRankStarted:
    case Report::REPORT_NOT_SET:
      break;
  }
}

void LocalRun::answer_shortage(const v1alpha1::JobEvent& event) {
  if (planned_again_ || stopping_ || !event.restarting()) return;
  const auto correction = policy::correction_of(event.shortage(), event.attempt());
  if (!correction) return;
  planned_again_ = true;
  const Result<RunFigures> next = config_.plan_again(*correction);
  if (!next) return console_.notice(fmt::format("the layout stays: {}", next.error().message));
  figures_ = *next;
  replace_agents();
}

// An agent reads the plan when it starts. Their ranks have ended, and the coordinator waits.
void LocalRun::replace_agents() {
  for (auto& agent : agents_) agent.reset();
  end_attempt(since_epoch(), progress_);
  for (auto& due : starts_due_) due = Clock::now() + policy::pause_before_restart(progress_.short_attempts);
}

void LocalRun::handle_agent_exits() {
  for (int node = 0; node < config_.agents.nodes; ++node) {
    std::optional<Process>& agent = agents_[static_cast<std::size_t>(node)];
    if (!agent) continue;
    if (agent->is_stopped()) agent->signal_group(SIGKILL);  // silent, and a stopped coordinator holds up all
    const std::optional<ExitStatus> status = agent->try_wait();
    if (!status) continue;
    agent.reset();
    handle_reports();  // what it said before it ended
    handle_agent_exit({.node = node, .status = *status});
  }
}

void LocalRun::handle_agent_exit(const AgentExit& exit) {
  using Action = AgentVerdict::Action;
  progress_.job_over = stopping_ || result_.has_value();
  const AgentVerdict verdict = judge_agent_exit(exit, progress_, config_.failure_policy, since_epoch());
  switch (verdict.action) {
    case Action::kExpected:
      if (exit.node == 0 && !result_)
        finish(reasons::kInterrupted, reasons::kStoppedByUser, "stopped by a signal", ExitCode::kInterrupted);
      return;
    case Action::kAwaitResult:
      result_due_ = Clock::now() + kPatience;
      why_due_ = verdict.message;
      return;
    case Action::kFail:
      finish(reasons::kFailed, verdict.reason, verdict.message, ExitCode::kJobFailed);
      return;
    case Action::kStartAgain:
      break;
  }
  tell_lost_agent(exit.node, verdict);
  if (verdict.restarts) ++restarts_;
  count_lost_agent(exit, verdict, config_.failure_policy, since_epoch(), progress_);
  starts_due_[static_cast<std::size_t>(exit.node)] =
      Clock::now() + policy::pause_before_restart(progress_.short_attempts);
}

// The coordinator tells of every lost node but its own.
void LocalRun::tell_lost_agent(int node, const AgentVerdict& verdict) {
  if (node > 0) return console_.notice(verdict.message);
  v1alpha1::JobReport report;
  v1alpha1::JobEvent& event = *report.mutable_event();
  event.set_reason(verdict.reason);
  event.set_rank(-1);
  event.set_message(verdict.message);
  event.set_restarting(true);
  event.set_counts(verdict.counts);
  console_.event(event);
  if (config_.listener != nullptr) config_.listener->reported(report);
}

void LocalRun::handle_silence() {
  if (result_ || !result_due_ || Clock::now() < *result_due_) return;
  finish(reasons::kFailed, reasons::kAgentFailed, why_due_, ExitCode::kJobFailed);
}

void LocalRun::finish(const std::string& result, const std::string& reason, const std::string& message,
                      ExitCode code) {
  v1alpha1::JobResult own;
  own.set_result(result);
  own.set_reason(reason);
  own.set_message(message);
  own.set_exit_code(static_cast<int>(code));
  own.set_restarts(restarts_);
  result_ = own;
  at_once_ = true;
}

// Agents end by themselves when the coordinator told them the result; who does not is killed with the object.
void LocalRun::let_agents_end() {
  Clock::time_point end = Clock::now() + kPatience;
  const auto running = [](const std::optional<Process>& agent) { return agent.has_value(); };
  while (!at_once_ && Clock::now() < end && std::any_of(agents_.begin(), agents_.end(), running)) {
    wait_for_something();
    handle_signals();
    handle_reports();
    for (auto& agent : agents_) {
      if (!agent || !agent->try_wait()) continue;
      const bool hosted_the_coordinator = &agent == &agents_.front();
      if (hosted_the_coordinator) end = std::min(end, Clock::now() + kShortPatience);
      agent.reset();
    }
  }
}

// As the coordinator counts, whose budget goes with it when it is lost.
void LocalRun::count_restart(bool counts) {
  ++restarts_;
  if (counts) policy::count_restart(config_.failure_policy, since_epoch(), progress_.budget);
}

policy::Time LocalRun::since_epoch() {
  return policy::since_epoch(Clock::now());
}

int LocalRun::window_age_seconds() const {
  if (!progress_.budget.window_start) return 0;
  const auto age = since_epoch() - *progress_.budget.window_start;
  return static_cast<int>(std::chrono::duration_cast<std::chrono::seconds>(age).count());
}

int LocalRun::elapsed_seconds() const {
  return static_cast<int>(std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - start_).count());
}

}  // namespace caravan::cli
