// A small text file as a whole: a plan, a certificate, what the kernel tells of this process.
//
// Errors name the file and what the system says: "cannot read plan.json: No such file or directory". A path
// that is wrong has exit code 2, a disk or network that fails another. What others may have written, and so
// be of any length, is read with a bound.
#pragma once

#include <cstddef>
#include <string>

#include "common/result.h"

namespace caravan {

Result<std::string> file_contents(const std::string& path);

// Not more than that: who asks for one byte more than may be there knows when it is too much.
Result<std::string> file_beginning(const std::string& path, std::size_t most_bytes);

// Larger ones are refused before they are read, and so are pipes and devices, which have no size.
Result<std::string> file_within(const std::string& path, std::size_t most_bytes);

}  // namespace caravan
