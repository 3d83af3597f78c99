// Replaces the PersistentVolumeClaims of a job by folders of this machine, so that the file that `kubectl
// apply` takes runs here unchanged.
//
// A path without a claim is a local one, relative to the current folder. Errors (exit code 2) name the field
// and say which `--volume` to add; a claim that the job does not have and a folder that does not exist are
// errors too.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "caravan/v1alpha1/job.pb.h"
#include "common/result.h"

namespace caravan::cli {

using Volumes = std::map<std::string, std::string>;  // claim to folder

// Parses "CLAIM=DIR" arguments.
Result<Volumes> parse_volumes(const std::vector<std::string>& arguments);

// Afterwards the spec names no claim, and its paths are absolute.
Status resolve_claims(const Volumes& volumes, v1alpha1::JobSpec& spec);

}  // namespace caravan::cli
