// Who decides when the pods of a job start: its gang provider, and the queue that it waits in. Pure.
#pragma once

#include <chrono>
#include <string>

#include "operator/api/job_object.h"

namespace caravan::controller {

// None where the job says nothing. A label that names a queue of Kueue chooses Kueue.
v1alpha1::Gang::Provider gang_provider(const Job& job);
// Empty: none is named.
std::string queue_of(const Job& job);
// How long a gang may wait for all of its machines.
std::chrono::seconds gang_timeout(const Job& job);

}  // namespace caravan::controller
