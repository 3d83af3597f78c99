#include "cli/load_profile.h"

#include <fmt/format.h>

#include "caravan/v1alpha1/profile.pb.h"
#include "cli/yaml_reader.h"
#include "common/schema/loader.h"

namespace caravan::cli {

Result<planner::EngineProfile> load_profile(const std::string& path) {
  const auto root = read_yaml_file(path);
  if (!root) return tl::unexpected(root.error());
  v1alpha1::EngineProfile message;
  const schema::Findings findings = schema::load_message(*root, message);
  std::string mistakes;
  for (const schema::Remark& mistake : findings.mistakes) {
    mistakes += fmt::format("{}{}:{}: {}: {}", mistakes.empty() ? "" : "\n", path, mistake.line, mistake.path,
                            mistake.text);
  }
  if (!mistakes.empty()) return bad_input(mistakes);
  return planner::read_engine_profile(message);
}

}  // namespace caravan::cli
