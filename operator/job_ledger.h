// What the operator counted of each job while it looked after it: where the time went, and why it restarted.
//
// Time belongs to one category at any moment, so a job's seconds add up; none passes while a job is suspended
// by its user or over and has no pods. rework: steps that an earlier attempt had made already. restore: what
// ranks tell that they took to read checkpoints, taken out of the startup that follows, so that no category
// ever shrinks. What goes on while a job makes steps is known when the next one is told, or none comes any
// more, and is counted then: less what training waited for checkpoints (checkpoint_stall), and the silence of
// a gang that hung (stalled). Counted from when this process first saw the job, as counters of Prometheus may
// begin anew. Safe for any thread.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "common/clock.h"
#include "operator/controller/snapshot.h"

namespace caravan::controller {

enum class TimeCategory {
  kQueue,
  kStartup,
  kRestore,
  kProductive,
  kRework,
  kCheckpointStall,
  kStalled,
  kTeardown
};
const char* name_of(TimeCategory category);

// redone: the last step is one that an earlier attempt had made. Nothing for a job of another controller.
// Pure.
std::optional<TimeCategory> category_of(const Job& job, const v1alpha1::JobStatus& status, bool has_pods,
                                        bool redone);

class JobLedger {
 public:
  // Of a job that has started, every category and every reason stands here with 0 before it does with more:
  // who counts what a counter grows by does not see where it began.
  struct Account {
    kube::ObjectKey job = {};
    std::map<TimeCategory, double> seconds = {};
    std::map<std::string, int> restarts = {};  // by reason
  };

  // snapshot: what was decided on; status: the decision's. From `now` on the job is what they say.
  void look(const Snapshot& snapshot, const v1alpha1::JobStatus& status, Clock::TimePoint now);
  void forget(const std::string& job_uid);
  std::map<std::string, Account> accounts(Clock::TimePoint now);  // by UID

 private:
  struct Entry {
    Account account;
    std::optional<TimeCategory> category = {};
    Clock::TimePoint since{};
    int restarts = 0;  // of these the account knows
    int attempt = 0;
    int step = 0;         // that was told last, of that attempt
    int made_before = 0;  // the highest step of earlier attempts
    int highest = 0;
    double since_step = 0;  // seconds that are not in the account yet
    double restores = 0;    // told, and not in the account yet
    double stalls = 0;
    double silence = 0;
    double restores_told = 0;
    double stalls_told = 0;
    int silent_attempt = 0;  // whose silence was told
  };

  static void settle(Entry& entry, Clock::TimePoint now);
  static void settle_steps(Entry& entry);
  static void hear(const Snapshot& snapshot, Entry& entry);
  static bool has_new_step(const Snapshot& snapshot, Entry& entry);
  static bool is_redone(const Snapshot& snapshot, Entry& entry);

  mutable std::mutex mutex_;
  std::map<std::string, Entry> entries_;
};

}  // namespace caravan::controller
