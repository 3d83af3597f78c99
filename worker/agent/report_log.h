// The job's story in the agent's log.
#pragma once

#include "worker/agent/report_sink.h"

namespace caravan::agent {

// Writes what matters to the log and hands everything on to `next`, if there is one.
class ReportLog : public ReportSink {
 public:
  void set_next(ReportSink* next) { next_ = next; }
  void tell(v1alpha1::JobReport report) override;

 private:
  ReportSink* next_ = nullptr;
};

}  // namespace caravan::agent
