// Where the coordinator tells the job's story.
#pragma once

#include "caravan/v1alpha1/coordination.pb.h"

namespace caravan::agent {

class ReportSink {
 public:
  virtual ~ReportSink() = default;
  // Never blocks.
  virtual void tell(v1alpha1::JobReport report) = 0;
};

}  // namespace caravan::agent
