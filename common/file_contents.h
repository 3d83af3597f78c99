// A small text file as a whole: a plan, a certificate, what the kernel tells of this process.
//
// Errors name the file and what the system says: "cannot read plan.json: No such file or directory". A path
// that is wrong has exit code 2, a disk or network that fails another. What others may have written, and so
// be of any length, is read by a reader with a bound instead.
#pragma once

#include <string>

#include "common/result.h"

namespace caravan {

Result<std::string> file_contents(const std::string& path);

}  // namespace caravan
