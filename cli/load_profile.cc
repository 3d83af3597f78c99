#include "cli/load_profile.h"

#include "caravan/v1alpha1/profile.pb.h"
#include "cli/load_message.h"

namespace caravan::cli {

Result<planner::EngineProfile> load_profile(const std::string& path) {
  v1alpha1::EngineProfile message;
  if (const auto loaded = load_yaml_message(path, message); !loaded) return tl::unexpected(loaded.error());
  return planner::read_engine_profile(message);
}

}  // namespace caravan::cli
