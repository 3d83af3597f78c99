// What the coordinator of a job reported last, and how a report is added to that. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "caravan/v1alpha1/coordination.pb.h"
#include "operator/api/job_object.h"

namespace caravan::controller {

// A step whose checkpoint is complete.
struct SavedStep {
  int step = 0;
  TimePoint at{};   // when it was told first
  int attempt = 0;  // that wrote it
};

// Whom the coordinator still waits for.
struct Absence {
  std::vector<int> nodes = {};
  bool of_all_others = false;  // than its own, node 0
  TimePoint at{};              // when its report arrived
  std::string message = {};
};

// Attempts only grow, so reports that come twice or late change nothing but the time of an absence.
struct JobProgress {
  int attempt = 0;                                             // the highest that has started; 0: none yet
  std::vector<v1alpha1::EndedAttempt> ended = {};              // before it, as far as its coordinator told
  std::optional<int> short_attempts = {};                      // of them, in a row
  std::optional<v1alpha1::JobStep> step = {};                  // the last one of that attempt
  std::optional<int> resumed_step = {};                        // whose checkpoint that attempt goes on from
  std::optional<v1alpha1::JobEvent> event = {};                // the last failure
  std::vector<v1alpha1::JobEvent> stragglers = {};             // of that attempt, the first few
  std::optional<TimePoint> event_at = {};                      // when its report arrived first
  std::optional<Absence> absence = {};                         // that keeps the next attempt from starting
  std::vector<SavedStep> checkpoints = {};                     // complete ones, the last of them last
  std::optional<v1alpha1::CheckpointReport> failed_save = {};  // since the last complete one
  std::string answered_request = {};                           // of those for a checkpoint, the last one
  double restore_seconds = 0;  // that ranks of all attempts took to read checkpoints
  double stall_seconds = 0;    // and that training waited for those it wrote, or tried to
  std::optional<v1alpha1::JobResult> result = {};
};

// Reports that are old or come twice change nothing. True when anything but a step changed.
bool add_report(const v1alpha1::JobReport& report, TimePoint now, JobProgress& progress);

}  // namespace caravan::controller
