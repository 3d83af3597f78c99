// What the job service tells, as the documents that the API server would have told it by, as far as it does;
// and what a user asks for in kubectl's words, as the service has it. Pure.
#pragma once

#include <string>

#include "caravan/v1alpha1/job_service.pb.h"
#include "common/result.h"
#include "kube/api/json.h"

namespace caravan::cli {

// "namespaces/NAMESPACE", and "namespaces/-" for all, which is the empty one.
std::string parent_of(const std::string& name_space);
// "namespaces/NAMESPACE/jobs/JOB".
std::string resource_name_of(const std::string& name_space, const std::string& job);

// A LlamaTrainingJob, its fields in the order of their names, as the API server has them.
kube::Json job_document(const v1alpha1::Job& job);
// An Event of events.k8s.io/v1.
kube::Json event_document(const v1alpha1::JobEventRecord& event);
// A ResourceQuota of each that is told of.
kube::JsonArray quota_documents(const v1alpha1::Capacity& capacity);

// Of "team=nlp,size!=large"; an error, exit code 2, of what the service has no words for.
Result<std::string> filter_of_labels(const std::string& selector);

}  // namespace caravan::cli
