#include "cli/cluster/checkpoint_answer.h"

#include "cli/cluster/job_news.h"
#include "operator/api/job_conditions.h"
#include "operator/api/names.h"

namespace caravan::cli {

bool CheckpointAnswer::see(const controller::Job& job) {
  status_ = job.status;
  const std::string& asked = job.checkpoint_request;
  if (!asked.empty() && asked != before_) newest_ = asked;
  const std::string& answered = status_.checkpoint_request();
  has_come_ = answered == request_ || answered == newest_;
  return !has_come_ && !end_of(status_);
}

std::string time_of_checkpoint(const controller::Job& job) {
  const bool is_suspended =
      job.spec.suspend() || controller::is_true(job.status, controller::conditions::kSuspended);
  return is_suspended ? "when it goes on" : "after the step at work";
}

}  // namespace caravan::cli
