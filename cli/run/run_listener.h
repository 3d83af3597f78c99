// Who else hears how a run goes, such as its page. Called by the run's own thread, so nothing here may block.
#pragma once

#include "caravan/v1alpha1/coordination.pb.h"
#include "caravan/v1alpha1/plan.pb.h"

namespace caravan::cli {

class RunListener {
 public:
  virtual ~RunListener() = default;
  // The job was planned again, and goes on with this plan.
  virtual void planned(const v1alpha1::PlanReport& report) = 0;
  // What the coordinator tells, and of a coordinator that was lost the event that tells it.
  virtual void reported(const v1alpha1::JobReport& report) = 0;
};

}  // namespace caravan::cli
