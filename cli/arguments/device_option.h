// `--device`: what a job trains on, `cpu` or a product of a GPU.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "common/result.h"
#include "planner/device/catalogue.h"

namespace caravan::cli {

inline constexpr const char* kCpu = "cpu";

// cpu, then the products.
std::vector<std::string> device_choices(const std::vector<planner::DeviceProduct>& own = {});

// The name that its catalogue has for a device, which goes by several: cpu in any case, or a product. An
// error names what was probably meant, and not the option.
Result<std::string> device_named(const std::string& given,
                                 const std::vector<planner::DeviceProduct>& own = {});
// Of an option that takes one.
CLI::Validator known_device();

// What `--set` would say to have a job train on that device instead of its own, whose memory it leaves
// behind. A product that only the user's catalogue has may be a CPU or a GPU, as the job says. Errors name
// the option and what was probably meant.
Result<std::vector<std::string>> device_overrides(const std::string& device,
                                                  const std::vector<planner::DeviceProduct>& own = {});

}  // namespace caravan::cli
