// One line of JSON on standard output for each call that changes something: who, what, and how it ended.
// Tokens never stand in it. Safe for any thread.
#pragma once

#include <string>

#include "service/access/caller.h"
#include "service/answer/fault.h"

namespace caravan::service {

struct AuditedCall {
  std::string method;    // CreateJob
  std::string resource;  // namespaces/NAMESPACE, or a job
  std::string request_id = {};
  bool dry_run = false;
};

// The line without its end. fault: null when the call did what it was asked for.
std::string audit_line(const std::string& time, const Caller& caller, const AuditedCall& call,
                       const Fault* fault);

void write_audit(const std::string& line);

}  // namespace caravan::service
