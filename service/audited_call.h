// The line of audit of a call, from its request, by the names that the fields of requests have in common, and
// its answer.
#pragma once

#include <google/protobuf/message.h>

#include <memory>
#include <string>

#include "service/audit.h"

namespace caravan::service {

// Of a request that would change something.
AuditedCall audited_call(const std::string& method, const google::protobuf::Message& request);
// Leaves its line, with the name of the job that was answered, which the API server may have made. admitted:
// by the gate.
void audit_call(Audit& audit, const Call& call, AuditedCall asked, bool admitted,
                const Answer<std::unique_ptr<google::protobuf::Message>>& answer);

}  // namespace caravan::service
