#include "cli/load_message.h"

#include <fmt/format.h>

#include "cli/yaml_reader.h"
#include "common/schema/loader.h"
#include "common/standard_stream.h"

namespace caravan::cli {

Result<schema::Node> load_yaml_message(const std::string& path, google::protobuf::Message& message) {
  auto root = read_yaml_file(path);
  if (!root) return root;
  const schema::Diagnostics diagnostics = schema::load_message(*root, message);
  std::string mistakes;
  for (const schema::Diagnostic& mistake : diagnostics.errors) {
    mistakes += fmt::format("{}{}:{}: {}: {}", mistakes.empty() ? "" : "\n", input_name(path), mistake.line,
                            mistake.path, mistake.text);
  }
  if (!mistakes.empty()) return bad_input(mistakes);
  return root;
}

}  // namespace caravan::cli
