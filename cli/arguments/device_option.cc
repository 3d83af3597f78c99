#include "cli/arguments/device_option.h"

#include <fmt/format.h>

#include "cli/arguments/choice.h"

namespace caravan::cli {
namespace {

constexpr const char* kDevice = "spec.resources.device";

std::string set(const char* field, const std::string& value) {
  return fmt::format("{}.{}={}", kDevice, field, value);
}

}  // namespace

std::vector<std::string> device_choices(const std::vector<planner::DeviceProduct>& own) {
  std::vector<std::string> choices = planner::device_names(own);
  choices.insert(choices.begin(), kCpu);
  return choices;
}

Result<std::vector<std::string>> device_overrides(const std::string& device,
                                                  const std::vector<planner::DeviceProduct>& own) {
  if (device == kCpu) return std::vector{set("kind", "CPU"), set("product", "null"), set("memory", "null")};
  if (!planner::find_device(device, own))
    return bad_input("--device: " + not_one_of(device, device_choices(own)));
  std::vector<std::string> sets{set("product", device), set("memory", "null")};
  if (planner::find_device(device)) sets.push_back(set("kind", "GPU"));
  return sets;
}

}  // namespace caravan::cli
