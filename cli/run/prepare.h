// From a job file to everything that a local run needs: claims resolved, files checked, layout planned.
//
// Nothing is started and nothing is written. Errors: exit code 2 for what the user has to mend, 3 when the
// job does not fit into this machine.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "caravan/v1alpha1/plan.pb.h"
#include "cli/load_job.h"
#include "cli/run/machine.h"
#include "common/result.h"
#include "planner/plan.h"
#include "report_text/step_line.h"

namespace caravan::cli {

struct RunOptions {
  std::string job_file;
  std::vector<std::string> sets;
  std::optional<int> nodes;
  std::vector<std::string> volumes;
  std::string device_catalogue;  // empty: nobody knows how fast this machine's processor is
  std::optional<int> metrics_port;
  std::optional<int> log_every_seconds;
  std::string work_directory;
  std::string trace_directory;  // empty: no traces are written
  std::string event_folder;     // for TensorBoard; empty: no events are written
  std::string page_address;     // HOST:PORT; empty: no page is served
  std::string output;           // text, json or empty: by what standard output is
  // False: the layout is that of the job, and none of its checkpoints is read or written.
  bool keeps_checkpoints = true;
};

struct PreparedRun {
  v1alpha1::JobPlan job = {};
  v1alpha1::PlanReport report = {};
  std::vector<std::string> notices;  // what was ignored, one line each
  RunFigures figures = {};
  planner::DeviceFacts facts = {};     // of this machine
  std::vector<std::string> gpus = {};  // that it may use; none of a job on CPUs
};

Result<PreparedRun> prepare_run(const LoadedJob& loaded, const RunOptions& options, const Machine& machine);

// The run with its next layout, since a rank of it ran out of memory; exit code 3 where no other one fits.
Result<PreparedRun> plan_again(PreparedRun run, const v1alpha1::MemoryCorrection& correction);

}  // namespace caravan::cli
