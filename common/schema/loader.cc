#include "common/schema/loader.h"

#include <fmt/format.h>
#include <google/protobuf/descriptor.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/schema/cel_rules.h"
#include "common/schema/field_rules.h"
#include "common/schema/message_text.h"

namespace caravan::schema {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using v1alpha1::FieldRules;

bool is_server_written(const Descriptor& type, const std::string& key) {
  const auto& options = type.options();
  for (int i = 0; i < options.ExtensionSize(v1alpha1::server_written); ++i) {
    if (options.GetExtension(v1alpha1::server_written, i) == key) return true;
  }
  return false;
}

// "training.steps" for a field that stands further inside; users often miss by a level.
std::optional<std::string> place_inside(const Descriptor& type, const std::string& key) {
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor& field = *type.field(i);
    if (field.cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE || field.is_repeated()) continue;
    if (is_server_written(type, field.json_name())) continue;
    const Descriptor& inner = *field.message_type();
    if (find_field(inner, key) != nullptr) return fmt::format("{}.{}", field.json_name(), key);
    if (const auto place = place_inside(inner, key)) return fmt::format("{}.{}", field.json_name(), *place);
  }
  return std::nullopt;
}

class Loader {
 public:
  Diagnostics take() { return std::move(diagnostics_); }
  const UnreliableFields& unreliable() const { return unreliable_; }

  // What an empty section lacks is no news where a rule of the message around it says more.
  std::vector<Diagnostic> missing_in_empty_sections(const std::vector<Diagnostic>& broken) {
    std::vector<Diagnostic> missing;
    for (auto& [path, diagnostic] : missing_in_empty_) {
      const std::string& section = path;  // clang 14 captures no structured binding
      const std::string around = section.substr(0, section.find_last_of('.'));
      const bool is_told = !section.empty() && std::ranges::any_of(broken, [&](const Diagnostic& rule) {
        return rule.path == around && rule.path != section;
      });
      if (!is_told) missing.push_back(std::move(diagnostic));
    }
    return missing;
  }

  void load_fields(const Node& node, const std::string& path, Message& message) {
    const Descriptor& type = *message.GetDescriptor();
    if (node.kind != NodeKind::kMap) {
      return mistake(node, path,
                     mismatch(fmt::format("a map of the fields {}", joined(names_of(type))), node));
    }
    std::map<std::string, int> first_line;
    for (const Node& entry : node.children) {
      const auto [known, is_first] = first_line.emplace(entry.key, entry.line);
      if (is_first) {
        load_entry(entry, path, message);
      } else {
        mistake(entry, child_path(path, entry.key),
                fmt::format("given twice; first on line {}", known->second));
      }
    }
    report_missing(node, path, type);
  }

 private:
  void mistake(const Node& node, const std::string& path, std::string text) {
    diagnostics_.errors.push_back({node.line, path, std::move(text)});
    unreliable_.invalid.push_back(path);
  }

  void note(const Node& node, const std::string& path, std::string text) {
    diagnostics_.warnings.push_back({node.line, path, std::move(text)});
  }

  void load_entry(const Node& entry, const std::string& parent, Message& message) {
    const std::string path = child_path(parent, entry.key);
    const Descriptor& type = *message.GetDescriptor();
    if (is_server_written(type, entry.key)) return note(entry, path, "written by the API server; ignored");
    const FieldDescriptor* field = find_field(type, entry.key);
    if (field == nullptr) {
      unreliable_.incomplete.insert(parent);
      return mistake(entry, path, unknown_field(type, entry.key));
    }
    const FieldRules& rules = rules_of(*field);
    if (entry.kind == NodeKind::kNull)
      return mistake(entry, path, mismatch(whole_expectation(*field), entry));
    if (is_unavailable(rules)) return mistake(entry, path, unavailability(*field));
    if (rules.cluster_only()) diagnostics_.cluster_only.push_back(path);
    load_value(entry, path, *field, message);
  }

  static std::string unknown_field(const Descriptor& type, const std::string& key) {
    const auto names = names_of(type);
    if (const auto place = place_inside(type, key))
      return fmt::format("unknown field here; did you mean {}?", *place);
    if (const auto meant = closest_match(key, names))
      return fmt::format("unknown field; did you mean {}?", *meant);
    return fmt::format("unknown field; the fields here are {}", joined(names));
  }

  void load_value(const Node& node, const std::string& path, const FieldDescriptor& field, Message& message) {
    if (field.is_map()) return load_string_map(node, path, field, message);
    if (field.is_repeated()) return load_list(node, path, field, message);
    if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      return load_fields(node, path, *message.GetReflection()->MutableMessage(&message, &field));
    }
    load_scalar(node, path, field, message);
  }

  void load_list(const Node& node, const std::string& path, const FieldDescriptor& field, Message& message) {
    if (node.kind != NodeKind::kList) {
      return mistake(node, path, mismatch(whole_expectation(field), node));
    }
    if (!check_size(node, path, rules_of(field))) return;
    for (std::size_t i = 0; i < node.children.size(); ++i) {
      const Node& child = node.children[i];
      const std::string child_path = fmt::format("{}[{}]", path, i);
      if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
        load_fields(child, child_path, *message.GetReflection()->AddMessage(&message, &field));
      } else {
        load_scalar(child, child_path, field, message);
      }
    }
    report_namesakes(node, path, field, message);
  }

  // Of entries that two writers may own, each has a name of its own.
  void report_namesakes(const Node& node, const std::string& path, const FieldDescriptor& field,
                        const Message& message) {
    const std::string& key = rules_of(field).list_key();
    if (key.empty()) return;
    const FieldDescriptor& name = *find_field(*field.message_type(), key);
    std::set<std::string> seen;
    for (std::size_t i = 0; i < node.children.size(); ++i) {
      const Message& entry =
          message.GetReflection()->GetRepeatedMessage(message, &field, static_cast<int>(i));
      const std::string value = entry.GetReflection()->GetString(entry, &name);
      if (!value.empty() && !seen.insert(value).second) {
        mistake(node.children[i], fmt::format("{}[{}]", path, i),
                fmt::format("an entry before has the same {}, {}", key, in_quotes(value)));
      }
    }
  }

  void load_string_map(const Node& node, const std::string& path, const FieldDescriptor& field,
                       Message& message) {
    if (node.kind != NodeKind::kMap) return mistake(node, path, mismatch(expectation(field), node));
    if (!check_size(node, path, rules_of(field))) return;
    const Descriptor& entry_type = *field.message_type();
    std::set<std::string> seen;
    for (const Node& child : node.children) {
      const std::string at = child_path(path, child.key);
      if (has_long_key(child, rules_of(field))) {
        mistake(child, path, expected_key(rules_of(field)));
        continue;
      }
      if (!seen.insert(child.key).second) {
        mistake(child, at, "given twice");
        continue;
      }
      Message& entry = *message.GetReflection()->AddMessage(&message, &field);
      entry.GetReflection()->SetString(&entry, entry_type.map_key(), child.key);
      load_map_value(child, at, field, entry);
    }
  }

  static bool has_long_key(const Node& node, const FieldRules& rules) {
    return rules.max_key_length() != 0 && node.key.size() > rules.max_key_length();
  }

  // The rules of the map hold for each of its values.
  void load_map_value(const Node& node, const std::string& path, const FieldDescriptor& map, Message& entry) {
    const FieldRules& rules = rules_of(map);
    if (node.kind == NodeKind::kScalar && node.quoted && node.text.empty()) {
      if (rules.allow_empty() || rules.format() == v1alpha1::StringFormat::Any) return;
      return mistake(node, path, broken_format(rules, "").value());
    }
    const FieldDescriptor& field = *map.message_type()->map_value();
    Value<std::string> value = read_string(field, node);
    if (value) {
      if (auto broken = broken_format(rules, *value)) value = tl::unexpected(*std::move(broken));
    }
    store_string(value, node, path, field, entry);
  }

  bool check_size(const Node& node, const std::string& path, const FieldRules& rules) {
    const std::size_t size = node.children.size();
    if (rules.max_items() != 0 && size > rules.max_items()) {
      mistake(node, path, fmt::format("expected at most {} entries, got {}", rules.max_items(), size));
      return false;
    }
    if (size < rules.min_items()) {
      mistake(node, path, fmt::format("{}, got an empty list", expected_entries(rules)));
      return false;
    }
    return true;
  }

  void load_scalar(const Node& node, const std::string& path, const FieldDescriptor& field,
                   Message& message) {
    switch (field.cpp_type()) {
      case FieldDescriptor::CPPTYPE_INT32:
        return store(read_integer(field, node), node, path, field, message);
      case FieldDescriptor::CPPTYPE_BOOL:
        return store(read_boolean(field, node), node, path, field, message);
      case FieldDescriptor::CPPTYPE_ENUM:
        return store_enumeration(read_enumeration(field, node), node, path, field, message);
      default:
        return store_string(read_string(field, node), node, path, field, message);
    }
  }

  static void set(Message& message, const FieldDescriptor& field, std::int32_t value) {
    const auto& reflection = *message.GetReflection();
    field.is_repeated() ? reflection.AddInt32(&message, &field, value)
                        : reflection.SetInt32(&message, &field, value);
  }
  static void set(Message& message, const FieldDescriptor& field, bool value) {
    const auto& reflection = *message.GetReflection();
    field.is_repeated() ? reflection.AddBool(&message, &field, value)
                        : reflection.SetBool(&message, &field, value);
  }
  static void set(Message& message, const FieldDescriptor& field, const std::string& value) {
    const auto& reflection = *message.GetReflection();
    field.is_repeated() ? reflection.AddString(&message, &field, value)
                        : reflection.SetString(&message, &field, value);
  }

  template <typename T>
  void store(const Value<T>& value, const Node& node, const std::string& path, const FieldDescriptor& field,
             Message& message) {
    if (!value) return mistake(node, path, value.error());
    set(message, field, *value);
  }

  void store_string(const Value<std::string>& value, const Node& node, const std::string& path,
                    const FieldDescriptor& field, Message& message) {
    const bool is_of_a_file = node.line != 0;
    if (value && is_of_a_file && is_unquoted_number(node)) {
      note(node, path,
           fmt::format("read as the string {}; kubectl apply needs the quotes", in_quotes(node.text)));
    }
    store(value, node, path, field, message);
  }

  void store_enumeration(const Value<int>& value, const Node& node, const std::string& path,
                         const FieldDescriptor& field, Message& message) {
    if (!value) return mistake(node, path, value.error());
    message.GetReflection()->SetEnumValue(&message, &field, *value);
  }

  // A required field that an unknown name stands for was reported already.
  void report_missing(const Node& node, const std::string& path, const Descriptor& type) {
    const std::vector<std::string> names = names_of(type);
    std::set<std::string> meant;
    for (const Node& entry : node.children) {
      if (find_field(type, entry.key) == nullptr) meant.insert(closest_match(entry.key, names).value_or(""));
    }
    for (int i = 0; i < type.field_count(); ++i) {
      const FieldDescriptor& field = *type.field(i);
      if (!rules_of(field).required() || meant.contains(field.json_name())) continue;
      if (find_entry(node, field.json_name()) != nullptr) continue;
      const std::string at = child_path(path, field.json_name());
      Diagnostic missing{node.line, at, fmt::format("is required: {}", whole_expectation(field))};
      unreliable_.invalid.push_back(at);
      if (node.children.empty()) {
        missing_in_empty_.emplace_back(path, std::move(missing));
      } else {
        diagnostics_.errors.push_back(std::move(missing));
      }
    }
  }

  Diagnostics diagnostics_;
  UnreliableFields unreliable_;
  std::vector<std::pair<std::string, Diagnostic>> missing_in_empty_;  // the section's path first
};

}  // namespace

Diagnostics load_message(const Node& root, Message& message) {
  Loader loader;
  loader.load_fields(root, "", message);
  apply_defaults(message);
  const std::vector<Diagnostic> broken = violated_cel_rules(root, message, loader.unreliable());
  Diagnostics diagnostics = loader.take();
  for (Diagnostic& missing : loader.missing_in_empty_sections(broken))
    diagnostics.errors.push_back(std::move(missing));
  diagnostics.errors.insert(diagnostics.errors.end(), broken.begin(), broken.end());
  return diagnostics;
}

}  // namespace caravan::schema
