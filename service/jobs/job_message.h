// Jobs as this API shows them, and as the API server takes them. Pure.
#pragma once

#include "caravan/v1alpha1/job_service.pb.h"
#include "kube/api/json.h"
#include "service/answer/fault.h"

namespace caravan::service {

// Of an object that the API server holds. Fields that this version does not know are left out.
v1alpha1::Job job_message(const kube::Json& object);

// The object to be created of what a request gave, once every rule of the schema holds; else a violation for
// each that does not, in the loader's sentences.
Answer<kube::Json> object_to_create(const v1alpha1::LlamaTrainingJob& job, const std::string& name_space);

// With every default, for the planner. The same faults.
Answer<v1alpha1::LlamaTrainingJob> completed_job(const v1alpha1::LlamaTrainingJob& job);

}  // namespace caravan::service
