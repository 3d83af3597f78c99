// What a look at the tokens of a dataset tells.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "common/result.h"
#include "data/token_dataset.h"

namespace caravan::data {

struct DatasetFacts {
  int64_t largest_id = 0;
  std::optional<int64_t> documents;   // known if every file records them
  std::vector<int64_t> first_tokens;  // at most 16
};

// Looks at every token, or at the first `most_tokens`. A negative token is an error (exit code 2) that names
// its place.
Result<DatasetFacts> examine(const TokenDataset& dataset,
                             int64_t most_tokens = std::numeric_limits<int64_t>::max());

}  // namespace caravan::data
