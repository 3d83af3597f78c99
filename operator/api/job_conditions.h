// Conditions of a job's status, as whoever reads a job asks for them. Pure.
#pragma once

#include <string>

#include "caravan/v1alpha1/job.pb.h"

namespace caravan::controller {

// Null where there is none.
const v1alpha1::Condition* find_condition(const v1alpha1::JobStatus& status, const std::string& type);
bool is_true(const v1alpha1::JobStatus& status, const std::string& type);
bool is_finished(const v1alpha1::JobStatus& status);
// Until the queue gives it again what was taken back.
bool is_suspended_by_queue(const v1alpha1::JobStatus& status);
// The gang is together and trains.
bool makes_steps(const v1alpha1::JobStatus& status);

}  // namespace caravan::controller
