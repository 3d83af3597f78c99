// A small file out of a folder that another program has made, such as a tokenizer's, to be passed on.
//
// The folder may come from anybody, and what is passed on may be published: a link is followed only to a
// file of the folder itself or, as Hugging Face's cache has them, of blobs/ beside the snapshots/ that the
// folder is one of. A file has 64 MiB at most, and one that is called JSON is. Errors name the file; bad
// input but for those of the machine.
#pragma once

#include <string>

#include "common/result.h"

namespace caravan::checkpoint {

// All of it.
Result<std::string> read_copied_file(const std::string& folder, const std::string& name);

}  // namespace caravan::checkpoint
