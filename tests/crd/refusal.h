// Holds what the API server says of a mistake against what the loader says.
//
// The same sentence: the server has the loader's up to what it tells of values, which it shows in its own
// way. Types, lengths, choices, required and unknown fields the server says in words that no schema can
// change, but at the same field.
#pragma once

#include "common/schema/document.h"
#include "tests/crd/job_server.h"

namespace caravan::kube::testing {

bool is_refused_alike(const Answer& server, const schema::Diagnostic& loader);

}  // namespace caravan::kube::testing
