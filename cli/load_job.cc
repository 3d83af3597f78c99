#include "cli/load_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "cli/overrides.h"
#include "cli/yaml_reader.h"
#include "common/schema/document.h"
#include "common/schema/loader.h"
#include "common/standard_stream.h"

namespace caravan::cli {
namespace {

using schema::Diagnostic;
using schema::Diagnostics;
using schema::Node;

// More would bury the first ones.
constexpr std::size_t kMaximumMistakes = 100;

std::string line_of(const Diagnostic& diagnostic, const std::string& name) {
  const std::string place = diagnostic.line == 0 ? "--set" : fmt::format("{}:{}", name, diagnostic.line);
  return diagnostic.path.empty() ? fmt::format("{}: {}", place, diagnostic.text)
                                 : fmt::format("{}: {}: {}", place, diagnostic.path, diagnostic.text);
}

// In the order of the file; what came from the command line first.
std::string report(std::vector<Diagnostic> mistakes, const std::string& name) {
  std::stable_sort(mistakes.begin(), mistakes.end(),
                   [](const Diagnostic& a, const Diagnostic& b) { return a.line < b.line; });
  std::string text;
  for (std::size_t i = 0; i < std::min(mistakes.size(), kMaximumMistakes); ++i) {
    text += fmt::format("{}{}", i == 0 ? "" : "\n", line_of(mistakes[i], name));
  }
  if (mistakes.size() > kMaximumMistakes) {
    text += fmt::format("\n{}: {} more mistakes", name, mistakes.size() - kMaximumMistakes);
  }
  return text;
}

// The API server would add five characters; here nothing else has that name.
void make_name(const Node& root, const std::string& file, LoadedJob& loaded) {
  v1alpha1::ObjectMeta& metadata = *loaded.job.mutable_metadata();
  if (!metadata.name().empty()) return;
  const std::string& start = metadata.generate_name();
  metadata.set_name(start.substr(0, start.find_last_not_of('-') + 1));
  const Node* given = schema::find_entry(*schema::find_entry(root, "metadata"), "generateName");
  loaded.notes.push_back(
      line_of({given->line, "metadata.generateName",
               fmt::format("the job is named {}; the API server would add five characters", metadata.name())},
              file));
}

Result<LoadedJob> load_tree(Node root, const std::string& name, const std::vector<std::string>& sets,
                            Naming naming) {
  for (const std::string& set : sets) {
    if (Status applied = apply_override(set, root); !applied) return tl::unexpected(applied.error());
  }
  LoadedJob loaded;
  Diagnostics diagnostics = schema::load_message(root, loaded.job);
  if (!diagnostics.errors.empty()) return bad_input(report(std::move(diagnostics.errors), name));
  loaded.cluster_only = std::move(diagnostics.cluster_only);
  for (const Diagnostic& note : diagnostics.warnings) loaded.notes.push_back(line_of(note, name));
  if (naming == Naming::kHere) make_name(root, name, loaded);
  return loaded;
}

}  // namespace

Result<LoadedJob> load_job(const std::string& path, const std::vector<std::string>& sets, Naming naming) {
  return read_yaml_file(path).and_then(
      [&](Node root) { return load_tree(std::move(root), input_name(path), sets, naming); });
}

Result<LoadedJob> parse_job(const std::string& text, const std::string& name,
                            const std::vector<std::string>& sets, Naming naming) {
  return read_yaml(text, name).and_then([&](Node root) {
    return load_tree(std::move(root), name, sets, naming);
  });
}

}  // namespace caravan::cli
