// model.safetensors.index.json: which file of a folder holds which tensor.
//
//   {"metadata": ..., "weight_map": {"TENSOR": "FILE", ...}}
//
// Every file is one of the same folder. Errors are bad input and name the field; the caller names the file.
// Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "common/result.h"

namespace caravan::checkpoint {

// The index of Llama 3.1 405B has 100 KiB, and that of as many layers as a job may have 4 MiB. Parsed, it
// takes many times its length.
inline constexpr int64_t kLongestIndex = 4 << 20;

using WeightMap = std::map<std::string, std::string, std::less<>>;  // tensor to file

Result<WeightMap> parse_weight_map(std::string_view json);

}  // namespace caravan::checkpoint
