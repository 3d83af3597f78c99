#include "cli/overrides.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "caravan/v1alpha1/job.pb.h"
#include "cli/yaml_reader.h"
#include "common/schema/field_rules.h"
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

struct Path {
  std::string text;
  std::vector<std::string> keys = {};
  bool is_known = true;  // jobs have such a field; names of a map's entries are free
};

// Behind a field that is a map all is one name, such as kueue.x-k8s.io/queue-name.
Path parse_path(const std::string& text) {
  Path path{.text = text};
  const google::protobuf::Descriptor* type = v1alpha1::LlamaTrainingJob::descriptor();
  for (std::size_t begin = 0;;) {
    const std::size_t dot = text.find('.', begin);
    const std::string key = text.substr(begin, dot - begin);
    const auto* field = type == nullptr ? nullptr : schema::find_field(*type, key);
    path.keys.push_back(key);
    path.is_known = path.is_known && field != nullptr;
    if (dot == std::string::npos) return path;
    begin = dot + 1;
    if (field != nullptr && field->is_map()) {
      path.keys.push_back(text.substr(begin));
      return path;
    }
    type = field == nullptr || field->is_repeated() ? nullptr : field->message_type();
  }
}

Result<Node*> locate(Node& root, const Path& path) {
  Node* at = &root;
  for (const std::string& key : path.keys) {
    if (at->kind == NodeKind::kNull) at->kind = NodeKind::kMap;
    if (at->kind != NodeKind::kMap) {
      return bad_input(fmt::format("--set: {}: leads through {}, which has no fields", path.text, at->key));
    }
    at = &entry_of(*at, key);
  }
  return at;
}

void remove(Node& root, const Path& path) {
  Node* at = &root;
  for (const std::string& key : std::span(path.keys).first(path.keys.size() - 1)) {
    at = schema::find_entry(*at, key);
    if (at == nullptr) return;
  }
  std::erase_if(at->children, [&](const Node& entry) { return entry.key == path.keys.back(); });
}

// As YAML writes nothing.
bool is_null(std::string_view value) {
  return value == "null" || value == "Null" || value == "NULL" || value == "~";
}

// Names joined by dots, of labels with a slash; whatever else a shell lets through has no place in a message
// either.
bool is_path(std::string_view path) {
  const bool has_empty_part =
      path.empty() || path.front() == '.' || path.back() == '.' || path.find("..") != std::string_view::npos;
  return !has_empty_part && std::all_of(path.begin(), path.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '_' || c == '-' || c == '/';
  });
}

}  // namespace

Status apply_override(const std::string& assignment, Node& root) {
  const std::size_t equals = assignment.find('=');
  const std::string name = assignment.substr(0, equals);
  if (equals == std::string::npos || !is_path(name)) {
    return bad_input(fmt::format("--set: {} is not PATH=VALUE; write one such as spec.training.steps=100",
                                 schema::in_quotes(assignment)));
  }
  const Path path = parse_path(name);
  const std::string given = assignment.substr(equals + 1);
  if (is_null(given)) {
    if (!path.is_known) return bad_input(fmt::format("--set: {}: there is no such field to remove", name));
    remove(root, path);
    return {};
  }
  Result<Node> value = read_yaml(given, fmt::format("--set: {}", name));
  if (!value) return tl::unexpected(value.error());
  if (value->kind == NodeKind::kMap) {
    return bad_input(
        fmt::format("--set: {}: takes a single value or a list; set each field by its own path", name));
  }
  return locate(root, path).map([&](Node* entry) {
    value->key = entry->key;
    mark_as_given(*value);
    *entry = *std::move(value);
  });
}

}  // namespace caravan::cli
