#include "cli/arguments/device_option.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/arguments/choice.h"
#include "common/lower_case.h"

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

Result<std::string> device_named(const std::string& given, const std::vector<planner::DeviceProduct>& own) {
  const std::string lower = lower_case(given);
  if (lower == kCpu) return std::string(kCpu);
  if (const auto known = planner::find_device(given, own)) return known->name;
  if (lower == "gpu")
    return bad_input("expected a product, such as H100-80GB; `caravan devices` lists those that are known");
  return bad_input(not_one_of(given, device_choices(own)));
}

CLI::Validator known_device() {
  const auto check = [](const std::string& given) -> std::string {
    const auto known = device_named(given);
    return known ? "" : known.error().message;
  };
  return {check, fmt::format("{{{}}}", fmt::join(device_choices(), ","))};
}

Result<std::vector<std::string>> device_overrides(const std::string& device,
                                                  const std::vector<planner::DeviceProduct>& own) {
  const auto named = device_named(device, own);
  if (!named) return bad_input("--device: " + named.error().message);
  if (*named == kCpu) return std::vector{set("kind", "CPU"), set("product", "null"), set("memory", "null")};
  std::vector<std::string> sets{set("product", device), set("memory", "null")};
  if (planner::find_device(device)) sets.push_back(set("kind", "GPU"));
  return sets;
}

}  // namespace caravan::cli
