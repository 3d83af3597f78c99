// What of a request goes into its line of audit, by the names that the fields of requests have in common.
#pragma once

#include <google/protobuf/message.h>

#include <string>

#include "service/audit.h"

namespace caravan::service {

// Of a request that would change something.
AuditedCall audited_call(const std::string& method, const google::protobuf::Message& request);
// With the name of the job that was answered, which the API server may have made; null: there was no answer.
AuditedCall with_answer(AuditedCall call, const google::protobuf::Message* answer);

}  // namespace caravan::service
