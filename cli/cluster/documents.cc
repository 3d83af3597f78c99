#include "cli/cluster/documents.h"

#include <fmt/format.h>

#include <boost/json/serialize.hpp>

#include "cli/init/annotated_yaml.h"
#include "cli/yaml_reader.h"
#include "common/json.h"

namespace caravan::cli {
namespace {

using kube::Json;
using schema::NodeKind;

std::string spaces(int count) {
  return std::string(static_cast<std::size_t>(count), ' ');
}

bool is_nested(const Json& value) {
  return (value.is_object() && !value.get_object().empty()) ||
         (value.is_array() && !value.get_array().empty());
}

std::string json_leaf(const Json& value) {
  return value.is_string() ? json_string(value.get_string()) : boost::json::serialize(value);
}

std::string yaml_leaf(const Json& value) {
  return value.is_string() ? yaml_scalar(std::string(value.get_string())) : boost::json::serialize(value);
}

void write_yaml(const Json& value, int indentation, bool begins_on_this_line, std::string& text);

void write_fields(const kube::JsonObject& fields, int indentation, bool begins_on_this_line,
                  std::string& text) {
  for (const auto& field : fields) {
    if (!begins_on_this_line) text += spaces(indentation);
    begins_on_this_line = false;
    text += yaml_scalar(std::string(field.key())) + ":";
    if (!is_nested(field.value())) {
      text += fmt::format(" {}\n", yaml_leaf(field.value()));
      continue;
    }
    text += "\n";
    write_yaml(field.value(), field.value().is_array() ? indentation : indentation + 2, false, text);
  }
}

void write_items(const kube::JsonArray& items, int indentation, bool begins_on_this_line, std::string& text) {
  for (const Json& item : items) {
    if (!begins_on_this_line) text += spaces(indentation);
    begins_on_this_line = false;
    text += "- ";
    if (is_nested(item)) {
      write_yaml(item, indentation + 2, true, text);
    } else {
      text += yaml_leaf(item) + "\n";
    }
  }
}

void write_yaml(const Json& value, int indentation, bool begins_on_this_line, std::string& text) {
  if (value.is_object()) {
    write_fields(value.get_object(), indentation, begins_on_this_line, text);
  } else {
    write_items(value.get_array(), indentation, begins_on_this_line, text);
  }
}

void write_json(const Json& value, int indentation, std::string& text) {
  if (!is_nested(value)) {
    text += json_leaf(value);
    return;
  }
  const bool is_list = value.is_array();
  const char* separator = "\n";
  text += is_list ? "[" : "{";
  const auto begin_entry = [&] {
    text += separator + spaces(indentation + 2);
    separator = ",\n";
  };
  if (is_list) {
    for (const Json& item : value.get_array()) {
      begin_entry();
      write_json(item, indentation + 2, text);
    }
  } else {
    for (const auto& field : value.get_object()) {
      begin_entry();
      text += json_string(field.key()) + ": ";
      write_json(field.value(), indentation + 2, text);
    }
  }
  text += fmt::format("\n{}{}", spaces(indentation), is_list ? "]" : "}");
}

Json to_json(const schema::Node& node) {
  switch (node.kind) {
    case NodeKind::kMap: {
      kube::JsonObject fields;
      for (const schema::Node& entry : node.children) fields[entry.key] = to_json(entry);
      return fields;
    }
    case NodeKind::kList: {
      kube::JsonArray items;
      for (const schema::Node& item : node.children) items.push_back(to_json(item));
      return items;
    }
    case NodeKind::kNull:
      return nullptr;
    default:
      if (!node.quoted && (node.text == "true" || node.text == "false")) return node.text == "true";
      return Json(node.text);
  }
}

}  // namespace

std::string json_text(const Json& document) {
  std::string text;
  write_json(document, 0, text);
  return text + "\n";
}

std::string yaml_text(const Json& document) {
  if (!is_nested(document)) return yaml_leaf(document) + "\n";
  std::string text;
  write_yaml(document, 0, false, text);
  return text;
}

Result<Json> read_document(std::string_view text, const std::string& path) {
  return read_yaml(text, path).map(to_json);
}

}  // namespace caravan::cli
