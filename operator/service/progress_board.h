// What the coordinators of all jobs reported last, by the UID of the job. Safe for any thread.
//
// Only jobs that are known are kept, so that a coordinator that outlives its job leaves nothing behind, and
// only reports that can be true (report_check.h). A job has a look twice a second at most, however much its
// coordinator tells, so that no job takes the time of others.
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
#include "operator/service/report_check.h"
#include "operator/steps/step_history.h"

namespace caravan::controller {

struct Reporter {
  kube::ObjectKey job;
  std::string job_uid;
  std::string pod_uid = {};
};

class ProgressBoard {
 public:
  // Nothing, at the latest, when forget() is called for the job; must not call the board.
  using FactsOf = std::function<std::optional<JobFacts>(const Reporter&)>;
  // A job should be looked at after that time. Steps are news once in 30 s, everything else at once.
  using OnNews = std::function<void(const kube::ObjectKey&, std::chrono::milliseconds)>;
  enum class Answer { kTaken, kUnknownJob, kImpossible };

  // history: takes the steps; outlives the board.
  ProgressBoard(Clock& clock, StepHistory& history, FactsOf facts_of, OnNews on_news)
      : clock_(clock), history_(history), facts_of_(std::move(facts_of)), on_news_(std::move(on_news)) {}

  // why: set when the report is impossible.
  Answer take(const Reporter& reporter, const v1alpha1::JobReport& report, std::string& why);
  // The look that was asked for: what is told after it asks for another.
  std::optional<JobProgress> look_at(const std::string& job_uid);
  // Of the job's coordinator, which hears of it with its next report. request: its name (ReportCommand).
  void ask_for_checkpoint(const std::string& job_uid, const std::string& request);
  // The request that was asked for since the last call.
  std::optional<std::string> take_checkpoint_wish(const std::string& job_uid);
  // Of the job's coordinator, which hears of it at once, and again when it comes again: told a second time,
  // it no longer waits for the step of its ranks.
  void ask_to_stop(const std::string& job_uid);
  // How the coordinator of a job that is kept hears of that, until there is another way: called once, without
  // the board's lock, and by this where it was asked for before.
  void set_way_to_stop(const std::string& job_uid, std::function<void()> tell);
  void forget(const std::string& job_uid);

 private:
  struct Entry {
    JobProgress progress;
    Clock::WallTime wall_zero{};  // when the clock of intervals began, by the wall clock of its times
    std::optional<Clock::TimePoint> step_told_at = {};
    std::optional<Clock::TimePoint> look_at = {};  // the last that was asked for
    bool look_is_to_come = false;                  // nobody has looked since
    std::optional<std::string> checkpoint_wish = {};
    bool is_to_stop = false;
    std::function<void()> tell_to_stop = {};  // empty: nobody can, or somebody has
  };

  // How long until the job should be looked at; nothing when a look that was asked for is still to come.
  static std::optional<std::chrono::milliseconds> next_look(Entry& entry, Clock::TimePoint now);

  // What counts of a report is how long ago it came, whatever was made of the wall clock since.
  void follow_wall_clock(Entry& entry) const;

  Clock& clock_;
  StepHistory& history_;
  FactsOf facts_of_;
  OnNews on_news_;
  mutable std::mutex mutex_;
  std::map<std::string, Entry> entries_;
};

}  // namespace caravan::controller
