// Whether this version's schema has every field of a request, but for the status of a job, which none
// changes. A newer client's would be lost without a word, and the job be another one than he asked for. Pure.
#pragma once

#include <google/protobuf/message.h>

#include "service/answer/fault.h"

namespace caravan::service {

// INVALID_ARGUMENT with where the first one stands and its number; what it is called, only the client knows.
Answer<void> check_fields_are_known(const google::protobuf::Message& request);

}  // namespace caravan::service
