// Names of files that somebody else wrote, in an index or a manifest. Pure.
#pragma once

#include <string_view>

namespace caravan::checkpoint {

// Whether it is the name of a file beside the one that names it, and no path that leads out of the folder.
bool is_file_name(std::string_view name);

}  // namespace caravan::checkpoint
