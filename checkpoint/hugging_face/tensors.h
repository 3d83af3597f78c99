// The tensors of a Llama model as Hugging Face names and shapes them, in the order of the model.
//
// What the trainer fuses (query, key and value; gate and up) are tensors of their own here, and a tied head
// is absent. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "planner/model/shape.h"

namespace caravan::checkpoint {

struct NamedShape {
  std::string name;
  std::vector<int64_t> shape;
  bool operator==(const NamedShape&) const = default;
};

// How many, whatever the configuration says: known before they are made.
int64_t tensor_count(const planner::ModelShape& model);
std::vector<NamedShape> tensors_of(const planner::ModelShape& model);

}  // namespace caravan::checkpoint
