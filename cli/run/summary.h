// The end of a run, as people read it and as one JSON line.
#pragma once

#include <optional>
#include <string>

#include "caravan/v1alpha1/coordination.pb.h"
#include "cli/run/run_tally.h"
#include "report_text/console_style.h"
#include "report_text/step_line.h"

namespace caravan::cli {

struct RunSummary {
  v1alpha1::JobResult result = {};
  RunTally tally = {};
  RunFigures figures;
  double wall_seconds = 0;
  std::string log_directory = {};  // where the ranks' logs stay; empty when they are gone
};

std::string summary_text(const RunSummary& summary, const ConsoleStyle& style);

std::string summary_json(const RunSummary& summary);

}  // namespace caravan::cli
