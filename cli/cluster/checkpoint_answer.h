// Whether a job that was asked for a checkpoint has answered, as whoever follows it sees it. Pure.
//
// The operator answers the newest request alone: when somebody else's has taken the place of ours, its answer
// is ours.
#pragma once

#include <string>
#include <utility>

#include "operator/api/job_object.h"

namespace caravan::cli {

class CheckpointAnswer {
 public:
  // request: ours. before: the one that stood there until then, which a server that is behind may tell again.
  CheckpointAnswer(std::string request, std::string before)
      : request_(std::move(request)), before_(std::move(before)), newest_(request_) {}

  // Whether to go on.
  bool see(const controller::Job& job);

  bool has_come() const { return has_come_; }
  // The job's, as it was seen last.
  const v1alpha1::JobStatus& status() const { return status_; }

 private:
  std::string request_;
  std::string before_;
  std::string newest_;
  bool has_come_ = false;
  v1alpha1::JobStatus status_;
};

// "after the step at work", for sentences.
std::string time_of_checkpoint(const controller::Job& job);

}  // namespace caravan::cli
