// The published Llama shapes by name, and small ones that train on a CPU.
//
// Published shapes are those of the Hugging Face configurations of the same models; the small ones
// (llama-tiny, llama-mini, llama-small) have the vocabulary of a byte-level tokenizer.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "planner/model/shape.h"

namespace caravan::planner {

std::optional<ModelShape> find_preset(std::string_view name);

// Smallest model first.
std::vector<std::string> preset_names();

}  // namespace caravan::planner
