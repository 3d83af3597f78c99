// model.safetensors.index.json: which file of a folder holds which tensor.
//
//   {"metadata": ..., "weight_map": {"TENSOR": "FILE", ...}}
//
// Every file is one of the same folder. Errors are bad input and name the field; the caller names the file.
// Pure.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "common/result.h"

namespace caravan::checkpoint {

using WeightMap = std::map<std::string, std::string, std::less<>>;  // tensor to file

Result<WeightMap> parse_weight_map(std::string_view json);

}  // namespace caravan::checkpoint
