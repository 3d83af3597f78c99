// The job's steps as TensorBoard shows them (node 0), written by a thread of its own: a volume that is slow,
// full or broken holds up neither the coordinator nor the end of the job.
//
// What cannot be written is missing in the curves; the first reason is said, and at the end how many steps it
// was.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>

#include "caravan/v1alpha1/coordination.pb.h"
#include "caravan/v1alpha1/plan.pb.h"
#include "tensorboard/event.h"
#include "tensorboard/event_folder.h"
#include "worker/agent/options.h"

namespace caravan::agent {

// Where the options say, and in a pod beside the job's checkpoints; none where there is neither.
std::optional<tensorboard::EventPlace> event_place(const v1alpha1::JobPlan& job, const AgentOptions& options);

// Memory is that of the fullest rank; what is unknown is left out.
tensorboard::StepScalars scalars_of(const v1alpha1::JobStep& step, double wall_seconds);

class EventLog {
 public:
  // Writes a step of this attempt. Called by one thread.
  using Write = std::function<Status(int attempt, const tensorboard::StepScalars&)>;
  static constexpr std::size_t kMaxWaiting = 4096;  // less than a megabyte

  // patience: how long the destructor waits for what has not been written.
  explicit EventLog(Write write, std::chrono::milliseconds patience = std::chrono::seconds(5));
  EventLog(const EventLog&) = delete;
  EventLog& operator=(const EventLog&) = delete;
  ~EventLog();

  // Never waits.
  void tell(const v1alpha1::JobReport& report);

 private:
  struct Shared;

  const std::chrono::milliseconds patience_;
  const std::shared_ptr<Shared> shared_;  // with the thread, which a dead server may hold for ever
};

}  // namespace caravan::agent
