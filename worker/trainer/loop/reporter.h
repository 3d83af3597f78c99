// What a rank tells its agent: RankReport, one JSON line each, on an inherited pipe or standard output.
//
// A pipe that nobody reads any more means that the agent is gone: the process ends at once, so that no orphan
// stays. Safe for any thread. Words for people go to standard error, which the agent follows and keeps.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "planner/memory/memory_terms.h"
#include "worker/trainer/loop/activity.h"
#include "worker/trainer/loop/phase_clock.h"

namespace caravan::trainer {

struct SavedTensorRecord {
  std::string name;
  std::string shape;
  std::string dtype;
  int64_t bytes = 0;
  std::string policy;
};

struct StartRecord {
  int rank = 0;
  int64_t local_parameters = 0;
  std::vector<SavedTensorRecord> saved;
  int64_t allocated_bytes = 0;
};

struct CollectiveRecord {
  std::string operation;
  std::string axis;
  int64_t bytes = 0;
  double seconds = 0;
};

struct StepRecord {
  int step = 0;
  std::optional<double> loss;
  std::optional<double> validation_loss;
  double gradient_norm = 0;
  double learning_rate = 0;
  bool skipped = false;
  double seconds = 0;
  int64_t tokens = 0;
  double rank_tokens = 0;
  double model_flops = 0;
  double hardware_flops = 0;
  PhaseClock::Seconds phase_seconds{};
  std::vector<CollectiveRecord> collectives;
  int64_t allocated_bytes = 0;
  int64_t reserved_bytes = 0;  // that the device's allocator holds
  int64_t peak_bytes = 0;
};

struct FinishRecord {
  int step = 0;
  planner::MemoryTerms peak;
};

// See CheckpointReport.
enum class CheckpointOutcome { Written, Resumed, Failed, Unusable, Answered };

struct CheckpointRecord {
  CheckpointOutcome outcome = CheckpointOutcome::Written;
  int step = 0;
  std::string path;
  double seconds = 0;
  double stall_seconds = 0;
  int64_t bytes = 0;
  std::string message{};
  std::string request{};
};

// See MemoryShortage.
struct ShortageRecord {
  std::string term;
  int64_t planned_bytes = 0;
  int64_t used_bytes = 0;
};

// Why a rank ends by its own decision: RankFailure.reason.
enum class FailureReason {
  InvalidInput,
  DataUnavailable,
  NonFiniteLoss,
  OutOfMemory,
  Communication,
  SilentCorruption,
  Internal
};
std::string_view failure_reason_name(FailureReason reason);

class Reporter {
 public:
  // fd: -1 is standard output.
  explicit Reporter(int fd);

  void started(const StartRecord& record) const;
  void step(const StepRecord& record) const;
  void finished(const FinishRecord& record) const;
  void failed(FailureReason reason, const std::string& message,
              const std::optional<ShortageRecord>& shortage = std::nullopt) const;
  void checkpoint(const CheckpointRecord& record) const;
  // See RankInterlude.
  void interlude(int delayed_step, bool goes_on = false) const;
  // Also while another thread is stuck in the middle of its report.
  void activity(const Activity& activity, const std::optional<Saving>& saving = std::nullopt) const;

 private:
  void write_line(const std::string& json) const;
  void write_whole(const std::string& line) const;

  int fd_;
  mutable std::timed_mutex mutex_;  // lines stay whole
};

}  // namespace caravan::trainer
