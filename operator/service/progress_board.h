// What the coordinators of all jobs reported last, by the UID of the job. Safe for any thread.
//
// Only jobs that are known are kept, so that a coordinator that outlives its job leaves nothing behind.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "common/clock.h"
#include "kube/api/object.h"
#include "operator/service/job_progress.h"

namespace caravan::controller {

struct Reporter {
  kube::ObjectKey job;
  std::string job_uid;
};

class ProgressBoard {
 public:
  // is_known: false, at the latest, when forget() is called for the job; must not call the board.
  // on_news: a job should be looked at. Steps are news once in 30 s, everything else at once.
  ProgressBoard(Clock& clock, std::function<bool(const Reporter&)> is_known,
                std::function<void(const kube::ObjectKey&)> on_news)
      : clock_(clock), is_known_(std::move(is_known)), on_news_(std::move(on_news)) {}

  // False: refused, since the job is not known.
  bool take(const Reporter& reporter, const v1alpha1::JobReport& report);
  std::optional<JobProgress> progress_of(const std::string& job_uid) const;
  void forget(const std::string& job_uid);

 private:
  struct Entry {
    JobProgress progress;
    std::optional<Clock::TimePoint> step_told_at = {};
  };

  Clock& clock_;
  std::function<bool(const Reporter&)> is_known_;
  std::function<void(const kube::ObjectKey&)> on_news_;
  mutable std::mutex mutex_;
  std::map<std::string, Entry> entries_;
};

// Reports that are old or come twice change nothing. True when anything but a step changed.
bool add_report(const v1alpha1::JobReport& report, TimePoint now, JobProgress& progress);

}  // namespace caravan::controller
