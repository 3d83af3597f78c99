// The methods of the job service with one answer, for the one job of a run. What would change the job, or
// plan another one, is UNIMPLEMENTED: a run can be looked at.
#pragma once

#include <string>

#include "cli/page/run_record.h"
#include "service/answer/fault.h"
#include "service/json/transcode.h"

namespace caravan::cli {

// method: of the JobService; request: of its type.
service::Answer<service::MessagePtr> answer(const RunRecord& record, const std::string& method,
                                            const google::protobuf::Message& request);

// Whether a request is about what there is: the job, or the namespace that it is in. NOT_FOUND.
service::Answer<void> check_job(const RunRecord& record, const std::string& name);
service::Answer<void> check_parent(const RunRecord& record, const std::string& parent);
// None, or the job's name. INVALID_ARGUMENT.
service::Answer<void> check_filter(const RunRecord& record, const std::string& filter);

}  // namespace caravan::cli
