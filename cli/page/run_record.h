// What is known of a run, for whoever looks at it: the job as an operator would show it, its events, its
// steps.
//
// Nobody is waited for, nor told by the run's thread: who reads has a place of his own in what is kept, and
// looks again when somebody calls wake_all(). What is kept is bounded. Safe for any thread.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "caravan/v1alpha1/job_service.pb.h"
#include "cli/run/prepare.h"
#include "cli/run/run_listener.h"
#include "common/clock.h"
#include "operator/steps/step_history.h"

namespace caravan::cli {

class RunRecord final : public RunListener {
 public:
  static constexpr std::size_t kMostEvents = 1000;

  // metadata: of the job file.
  RunRecord(Clock& clock, const v1alpha1::ObjectMeta& metadata, const PreparedRun& run);

  void planned(const v1alpha1::PlanReport& report) override;
  void reported(const v1alpha1::JobReport& report) override;
  // Nothing more is to come.
  void end(const v1alpha1::JobResult& result);

  // namespaces/NAMESPACE, of the job file or `local`, and the job in it.
  const std::string& parent() const { return parent_; }
  const std::string& name() const { return name_; }
  int ranks_per_node() const { return ranks_per_node_; }
  int ranks() const { return ranks_; }

  v1alpha1::Job job() const;
  v1alpha1::PlanReport plan() const;
  // Grows whenever the job changes.
  std::uint64_t version() const;
  bool has_ended() const;

  // The oldest first, from that one of all that there ever were; first: the number of the first of them.
  struct Events {
    std::vector<v1alpha1::JobEventRecord> events = {};
    std::uint64_t first = 0;
    bool is_all = true;
  };
  Events events(std::uint64_t from, std::size_t most) const;
  std::vector<controller::StepSample> steps_after(controller::StepCursor cursor, std::size_t most) const;

  // look_again may be called by any thread, until shortly after what is returned is gone.
  std::shared_ptr<void> follow(std::function<void()> look_again);
  void wake_all();

 private:
  v1alpha1::JobStatus& status() { return *job_.mutable_object()->mutable_status(); }
  void note(v1alpha1::JobEventRecord event);

  Clock& clock_;
  const std::string parent_;
  const std::string name_;
  const std::string uid_;
  const int ranks_;
  const int ranks_per_node_;
  mutable std::mutex mutex_;
  v1alpha1::Job job_;
  v1alpha1::PlanReport plan_;
  std::uint64_t version_ = 1;
  bool has_ended_ = false;
  std::deque<v1alpha1::JobEventRecord> events_;
  std::uint64_t events_gone_ = 0;  // that are not kept any more
  controller::StepHistory history_;
};

}  // namespace caravan::cli
