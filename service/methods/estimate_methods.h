// EstimateJob: what the planner says of a job, before a device is taken, for several numbers of devices at
// once.
//
// What the job says of its devices is all that is known of them; no node is looked at. Planning takes
// processor time, so few estimates run at once and what is beyond is refused.
#pragma once

#include <list>
#include <memory>
#include <mutex>
#include <string>

#include "caravan/v1alpha1/job_service.pb.h"
#include "common/clock.h"
#include "service/access/rights.h"
#include "service/methods/call.h"

namespace caravan::service {

class EstimateMethods {
 public:
  // One for each caller, and for each namespace, which may have any number of them.
  static constexpr std::size_t kAtOnce = 2;

  EstimateMethods(Rights& rights, Clock& clock) : rights_(rights), clock_(clock) {}

  // For whoever may create the job.
  Answer<v1alpha1::EstimateJobResponse> estimate_job(const Call& call,
                                                     const v1alpha1::EstimateJobRequest& request);

 private:
  struct Whose {
    std::string user = {};
    std::string name_space = {};
  };

  // Null: it is not his turn. Held while he is planned for.
  std::shared_ptr<void> take_turn(const Whose& whose);

  Rights& rights_;
  Clock& clock_;
  std::mutex mutex_;
  std::list<Whose> planned_for_;  // now
};

}  // namespace caravan::service
