#include "cli/overrides.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <string_view>
#include <utility>

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

// Whether jobs have such a field; names of a map's entries are free.
bool is_field(std::string_view path) {
  const google::protobuf::Descriptor* type = v1alpha1::LlamaTrainingJob::descriptor();
  for (std::size_t begin = 0;;) {
    const std::size_t dot = path.find('.', begin);
    const auto* field =
        type == nullptr ? nullptr : schema::find_field(*type, path.substr(begin, dot - begin));
    if (field == nullptr || dot == std::string_view::npos) return field != nullptr;
    if (field->is_map()) return true;
    if (field->is_repeated()) return false;
    type = field->message_type();
    begin = dot + 1;
  }
}

// Keys of a map may have dots.
void remove(Node& node, std::string_view path) {
  std::erase_if(node.children, [&](const Node& entry) { return entry.key == path; });
  const std::size_t dot = path.find('.');
  if (dot == std::string_view::npos) return;
  if (Node* inner = schema::find_entry(node, std::string(path.substr(0, dot))))
    remove(*inner, path.substr(dot + 1));
}

// As YAML writes nothing.
bool is_null(std::string_view value) {
  return value == "null" || value == "Null" || value == "NULL" || value == "~";
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
  const std::string given = assignment.substr(equals + 1);
  if (is_null(given)) {
    if (!is_field(path)) return bad_input(fmt::format("--set: {}: there is no such field to remove", path));
    remove(root, path);
    return {};
  }
  Result<Node> value = read_yaml(given, fmt::format("--set: {}", path));
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
