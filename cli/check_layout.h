// Whether any device could run the layout that a job asks for.
#pragma once

#include <string>

#include "caravan/v1alpha1/job.pb.h"
#include "common/result.h"

namespace caravan::cli {

// name: of the file, for the message. What no device could run is a mistake of the file; what merely does not
// fit is not.
Status check_layout(const std::string& name, const v1alpha1::JobSpec& spec);

}  // namespace caravan::cli
