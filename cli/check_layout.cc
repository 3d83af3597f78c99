#include "cli/check_layout.h"

#include <fmt/format.h>

#include <cstdint>

#include "planner/engine_profile.h"
#include "planner/plan.h"

namespace caravan::cli {
namespace {

// Stands in where the file does not say what a device has.
constexpr std::int64_t kAnyMemory = std::int64_t{1} << 50;

}  // namespace

Status check_layout(const std::string& name, const v1alpha1::JobSpec& spec) {
  planner::DeviceFacts facts;
  facts.memory_bytes = kAnyMemory;
  const auto report =
      planner::plan_job(spec, facts, planner::default_engine_profile(), {.says_what_would_do = false});
  if (report || report.error().code != ExitCode::kBadInput) return {};
  return bad_input(fmt::format("{}: {}", name, report.error().message));
}

}  // namespace caravan::cli
