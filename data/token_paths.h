// The token files that a path stands for: the file itself, all `.bin` files of a folder, or what a glob
// matches.
//
// Files come in byte order of their names, whatever the locale. Nothing found is an error like a
// file that is not there (read_error.h).
#pragma once

#include <string>
#include <vector>

#include "common/result.h"

namespace caravan::data {

Result<std::vector<std::string>> find_token_files(const std::string& path);

}  // namespace caravan::data
