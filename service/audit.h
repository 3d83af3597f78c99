// One line of JSON for each call that would change something: who, from where, what, and how it ended, also
// when it was refused. Tokens never stand in it. Safe for any thread.
//
// Whoever is refused before a method runs needs no right at all, so that he could push everybody's lines out
// of a log that is rotated: of those lines so many a second are written, and how many were not stands in the
// next.
#pragma once

#include <functional>
#include <mutex>
#include <string>

#include "common/clock.h"
#include "service/answer/fault.h"
#include "service/methods/call.h"
#include "serving/pace.h"

namespace caravan::service {

struct AuditedCall {
  std::string method;    // CreateJob
  std::string resource;  // namespaces/NAMESPACE, or a job
  std::string request_id = {};
  bool dry_run = false;
};

class Audit {
 public:
  using Write = std::function<void(const std::string& line)>;

  static constexpr double kRefusalsPerSecond = 10;
  static constexpr double kRefusalsAtOnce = 100;

  // write: gets lines without their ends, one at a time.
  Audit(Clock& clock, Write write) : clock_(clock), write_(std::move(write)) {}

  // fault: null when the call did what it was asked for.
  void method_ended(const Call& call, const AuditedCall& audited, const Fault* fault);
  void refused_at_the_gate(const Call& call, const AuditedCall& audited, const Fault& fault);

 private:
  Clock& clock_;
  const Write write_;
  std::mutex mutex_;
  Pace refusals_{kRefusalsPerSecond, kRefusalsAtOnce};
  long left_out_ = 0;  // lines, since the last refusal that was written
};

void write_to_standard_output(const std::string& line);

}  // namespace caravan::service
