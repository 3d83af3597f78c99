// Small files out of a folder that another program has made, a tokenizer's, to be passed on.
//
// The folder may come from anybody, and what is passed on may be published: a link is followed only to a
// file of the folder itself or, as Hugging Face's cache has them, of blobs/ beside the snapshots/ that the
// folder is one of. All of a tokenizer has 64 MiB at most, and a file that is called JSON is. Errors name the
// file; bad input but for those of the machine.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/result.h"

namespace caravan::checkpoint {

// The largest tokenizer.json that is known has a third.
inline constexpr int64_t kLargestTokenizer = int64_t{64} << 20;

struct CopiedFile {
  std::string name;
  std::string text;
  bool operator==(const CopiedFile&) const = default;
};

// All of it.
Result<std::string> read_copied_file(const std::string& folder, const std::string& name,
                                     int64_t most_bytes = kLargestTokenizer);

// Those of kTokenizerFiles that the folder has, in that order.
Result<std::vector<CopiedFile>> read_tokenizer(const std::string& folder);

}  // namespace caravan::checkpoint
