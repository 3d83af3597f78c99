#include "cli/check_layout.h"

#include <fmt/format.h>

#include "planner/engine_profile.h"
#include "planner/plan.h"

namespace caravan::cli {

Status check_layout(const std::string& name, const v1alpha1::JobSpec& spec) {
  return planner::check_job(spec, planner::default_engine_profile()).map_error([&](const Error& error) {
    return Error{fmt::format("{}: {}", name, error.message), error.code};
  });
}

}  // namespace caravan::cli
