// Sends the job's story to a JobReports service, and brings back its command to stop.
//
// A slow reader never blocks the job (see report_queue.h). A reader that is not there yet is waited for; one
// that goes away is not missed: the job goes on, and its story in the agent's log.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "worker/agent/report_sink.h"

namespace caravan::agent {

class ReportClient : public ReportSink {
 public:
  // on_stop: called by another thread for each command to stop.
  static std::unique_ptr<ReportClient> connect(const std::string& address, std::function<void()> on_stop);
  // Until the reader has acknowledged the result; false when it did not within `patience`.
  virtual bool wait_for_acknowledgement(std::chrono::milliseconds patience) = 0;
};

}  // namespace caravan::agent
