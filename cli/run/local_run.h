// Runs a planned job on this machine: one agent per node as a child, started again when it is killed; their
// reports go to the console, signals of the user to them.
//
// When a rank runs out of memory and says which use of it grew past its plan, the job is planned again, once,
// and goes on with new agents.
//
// Guarantees: when run() returns, no process of the job is left, and attempts have only grown. The first
// SIGINT, SIGTERM or SIGHUP stops after the step that runs, the second at once; SIGUSR1 asks for a
// checkpoint, of one coordinator after another until one has answered. Must be called from the main thread,
// once.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "caravan/v1alpha1/plan.pb.h"
#include "cli/run/agent_command.h"
#include "cli/run/agent_exit_policy.h"
#include "cli/run/console.h"
#include "cli/run/orphans.h"
#include "cli/run/report_server.h"
#include "cli/run/run_listener.h"
#include "cli/run/user_signals.h"
#include "common/process.h"
#include "common/result.h"

namespace caravan::cli {

struct LocalRunConfig {
  std::string job_uid;
  v1alpha1::FailurePolicy failure_policy;
  RunFigures figures;
  AgentSettings agents;
  std::string agent_program;
  bool writes_checkpoints = false;
  // Plans the job again, for agents that start from then on.
  std::function<Result<RunFigures>(const v1alpha1::MemoryCorrection&)> plan_again = {};
  RunListener* listener = nullptr;  // outlives the run
};

class LocalRun {
 public:
  // The references outlive it.
  static Result<LocalRun> create(LocalRunConfig config, const UserSignals& signals, Console& console);

  // Errors: a process or socket that cannot be made. A job that fails is a result.
  Result<RunSummary> run();

 private:
  using Clock = std::chrono::steady_clock;

  LocalRun(LocalRunConfig config, Console& console, ReportServer reports, const UserSignals& signals);

  Status start_agent(int node);
  Status start_agents_that_are_due();
  void wait_for_something() const;
  void handle_signals();
  void stop();
  void save();
  void pass_wish();
  void handle(const v1alpha1::CheckpointReport& report);
  void handle_reports();
  void handle(const v1alpha1::JobReport& report);
  void answer_shortage(const v1alpha1::JobEvent& event);
  void replace_agents();
  void handle_agent_exits();
  void handle_agent_exit(const AgentExit& exit);
  void tell_lost_agent(int node, const AgentVerdict& verdict);
  void handle_silence();
  void finish(const std::string& result, const std::string& reason, const std::string& message,
              ExitCode code);
  void let_agents_end();
  void count_restart(bool counts);
  static policy::Time since_epoch();
  int window_age_seconds() const;
  int elapsed_seconds() const;

  const Orphans orphans_;  // before the first agent
  const LocalRunConfig config_;
  Console& console_;
  ReportServer reports_;
  const UserSignals& signals_;
  const Clock::time_point start_ = Clock::now();
  std::vector<std::optional<Process>> agents_;                // by node; absent once it ended
  std::vector<std::optional<Clock::time_point>> starts_due_;  // of those that are started again
  RunProgress progress_;
  int restarts_ = 0;
  RunTally tally_;
  RunFigures figures_;
  bool planned_again_ = false;  // or it was tried
  int saves_asked_ = 0;
  std::optional<std::string> save_wish_;  // a request that nobody has answered (ReportCommand.request)
  bool stopping_ = false;
  bool at_once_ = false;
  // Set when an agent gave up and the reason is still to come.
  std::optional<Clock::time_point> result_due_;
  std::string why_due_;
  std::optional<v1alpha1::JobResult> result_;
};

}  // namespace caravan::cli
