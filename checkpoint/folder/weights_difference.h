// In what the weights of two folders differ: tensors that only one has, other shapes, other values.
//
// Weights are compared as numbers, whatever the types in which they are kept; NaN is the same as NaN. What
// has a type that weights cannot have is compared by its bytes. Reads both folders once, in pieces. Errors
// name the file that cannot be read.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "checkpoint/folder/weights_folder.h"

namespace caravan::checkpoint {

struct TensorDifference {
  std::string tensor;
  std::string structure = {};  // what differs beside values of weights, in words; empty: they do
  int64_t elements = 0;        // of the tensor
  int64_t different = 0;       // of these
  double largest = 0;          // absolute difference; NaN where one of them is NaN
};

// Sorted by name; empty when both hold the same.
Result<std::vector<TensorDifference>> compare_weights(WeightsFolder& first, WeightsFolder& second);

}  // namespace caravan::checkpoint
