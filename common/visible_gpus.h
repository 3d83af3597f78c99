// The GPUs that a program may use, by the variable with which CUDA is told: CUDA_VISIBLE_DEVICES.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace caravan {

inline constexpr char kVisibleGpus[] = "CUDA_VISIBLE_DEVICES";

// In the order in which CUDA then counts them: numbers, or names such as GPU-8932f937. What follows something
// that is neither is not visible either; none is where one is named twice.
std::vector<std::string> read_visible_gpus(std::string_view value);

// Of this process; absent where nobody said: all.
std::optional<std::vector<std::string>> visible_gpus();

}  // namespace caravan
