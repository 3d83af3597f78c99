// Keeps the job's result, with its last step, in a file, such as the termination log of a pod: whoever missed
// the reports finds it there. At most 4 KiB, however many ranks there are.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "worker/agent/report_sink.h"

namespace caravan::agent {

// Hands everything on to `next`, if there is one.
class ResultFile : public ReportSink {
 public:
  ResultFile(std::string path, ReportSink* next) : path_(std::move(path)), next_(next) {}
  void tell(v1alpha1::JobReport report) override;

 private:
  const std::string path_;  // empty: nowhere
  ReportSink* const next_;
  std::optional<v1alpha1::JobStep> last_step_;
};

}  // namespace caravan::agent
