// In what the weights of two folders differ: tensors that only one has, other shapes, other values.
//
// Values are compared as numbers, whatever the types in which they are kept; NaN is the same as NaN. Reads
// both folders once, in pieces. Errors name the file that cannot be read.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "checkpoint/folder/weights_folder.h"

namespace caravan::checkpoint {

struct TensorDifference {
  std::string tensor;
  std::string structure = {};  // what makes them impossible to compare; empty: values differ
  int64_t elements = 0;        // of the tensor
  int64_t different = 0;       // of these
  double largest = 0;          // absolute difference; NaN where one of them is NaN
};

// Sorted by name; empty when both hold the same.
Result<std::vector<TensorDifference>> compare_weights(WeightsFolder& first, WeightsFolder& second);

}  // namespace caravan::checkpoint
