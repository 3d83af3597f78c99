#include "cli/overrides.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <string_view>
#include <utility>

#include "cli/yaml_reader.h"
#include "common/schema/message_text.h"

namespace caravan::cli {
namespace {

using schema::Node;
using schema::NodeKind;

constexpr int kCommandLine = 0;

void mark_as_given(Node& node) {
  node.line = kCommandLine;
  for (Node& child : node.children) mark_as_given(child);
}

// The entry of `map`, made if it is not there.
Node& entry_of(Node& map, const std::string& key) {
  if (Node* found = schema::find_entry(map, key)) return *found;
  Node entry;
  entry.key = key;
  entry.line = kCommandLine;
  return map.children.emplace_back(std::move(entry));
}

Result<Node*> locate(Node& root, const std::string& path) {
  Node* at = &root;
  for (std::size_t begin = 0;;) {
    if (at->kind == NodeKind::kNull) at->kind = NodeKind::kMap;
    if (at->kind != NodeKind::kMap) {
      return bad_input(fmt::format("--set: {}: leads through {}, which has no fields", path, at->key));
    }
    const std::size_t dot = path.find('.', begin);
    at = &entry_of(*at, path.substr(begin, dot - begin));
    if (dot == std::string::npos) return at;
    begin = dot + 1;
  }
}

// Names joined by dots; whatever else a shell lets through has no place in a message either.
bool is_path(std::string_view path) {
  const bool has_empty_part =
      path.empty() || path.front() == '.' || path.back() == '.' || path.find("..") != std::string_view::npos;
  return !has_empty_part && std::all_of(path.begin(), path.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '_' || c == '-';
  });
}

}  // namespace

Status apply_override(const std::string& assignment, Node& root) {
  const std::size_t equals = assignment.find('=');
  const std::string path = assignment.substr(0, equals);
  if (equals == std::string::npos || !is_path(path)) {
    return bad_input(fmt::format("--set: {} is not PATH=VALUE; write one such as spec.training.steps=100",
                                 schema::in_quotes(assignment)));
  }
  Result<Node> value = read_yaml(assignment.substr(equals + 1), fmt::format("--set: {}", path));
  if (!value) return tl::unexpected(value.error());
  if (value->kind == NodeKind::kMap) {
    return bad_input(
        fmt::format("--set: {}: takes a single value or a list; set each field by its own path", path));
  }
  return locate(root, path).map([&](Node* entry) {
    value->key = entry->key;
    mark_as_given(*value);
    *entry = *std::move(value);
  });
}

}  // namespace caravan::cli
