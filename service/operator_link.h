// What the operator that leads tells of running jobs and of nodes (live_metrics.proto), over mutual TLS.
//
// Safe for any thread; all readers share one connection. Files are read again when they are rotated.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "caravan/v1alpha1/live_metrics.grpc.pb.h"
#include "common/call_context.h"
#include "common/result.h"
#include "service/answer/fault.h"
#include "service/answer/step_cursor.h"

namespace caravan::service {

// All but the address are files in PEM.
struct OperatorAccess {
  std::string address = {};      // HOST:PORT; empty: this service has no metrics
  std::string authority = {};    // who signed the operator's certificate
  std::string certificate = {};  // that this service comes with
  std::string key = {};
};
// Errors, exit code 2, name the flag: one that is missing beside --operator, or a file that cannot be read.
Status check_operator_access(const OperatorAccess& access);

class OperatorLink {
 public:
  // False: that is enough.
  using Take = std::function<bool(const v1alpha1::WatchStepsResponse&)>;

  OperatorLink(const OperatorAccess& access, Clock& clock);

  // Those with the most devices first, as of some seconds ago at most. UNAVAILABLE where no operator answers,
  // and while another call asks for the first time, so that an operator that hangs holds one caller only;
  // FAILED_PRECONDITION where it reads no nodes.
  Answer<v1alpha1::ListPoolsResponse> pools();
  // Until take() has enough, or the context ends, which is no fault. UNAVAILABLE where no operator answers.
  Answer<void> read(const CallContext& context, const std::string& job_uid, StepCursor at,
                    const Take& take) const;

 private:
  using Pools = Answer<v1alpha1::ListPoolsResponse>;

  Pools ask_for_pools() const;

  std::unique_ptr<v1alpha1::LiveMetrics::Stub> stub_;
  Clock& clock_;
  std::mutex mutex_;
  bool is_asked_ = false;
  std::optional<Pools> pools_;
  Clock::TimePoint pools_until_ = Clock::TimePoint::min();
};

}  // namespace caravan::service
