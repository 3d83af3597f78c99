#include "common/schema/cel_rules.h"

#include <fmt/format.h>
#include <google/protobuf/descriptor.h>

#include <algorithm>
#include <cctype>
#include <memory>
#include <optional>

#include "caravan/v1alpha1/options.pb.h"
#include "common/json.h"
#include "common/schema/field_rules.h"
#include "common/schema/message_text.h"
#include "rust/caravan_ffi.h"

namespace caravan::schema {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;
using v1alpha1::CelRule;

bool is_name_character(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

std::string joined_path(const std::string& path, const std::string& relative) {
  if (path.empty() || relative.empty()) return path + relative;
  return fmt::format("{}.{}", path, relative);
}

// "a.b" contains "a.b", "a.b.c" and "a.b[0]".
bool contains(std::string_view path, std::string_view inner) {
  if (!inner.starts_with(path)) return false;
  return path.empty() || inner.size() == path.size() || inner[path.size()] == '.' ||
         inner[path.size()] == '[';
}

// The entry along a path of names, or the last one on the way to it.
const Node& deepest_entry(const Node& from, std::string_view path) {
  const Node* at = &from;
  while (!path.empty()) {
    const std::size_t dot = std::min(path.find('.'), path.size());
    const Node* next = find_entry(*at, std::string(path.substr(0, dot)));
    if (next == nullptr) break;
    at = next;
    path.remove_prefix(std::min(dot + 1, path.size()));
  }
  return *at;
}

// "8", "Manual": a single value as a user would write it; nothing for lists, messages and what is absent.
std::optional<std::string> value_text(const Message& message, const FieldDescriptor& field) {
  const Reflection& reflection = *message.GetReflection();
  if (field.is_repeated() || !reflection.HasField(message, &field)) return std::nullopt;
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return fmt::format("{}", reflection.GetInt32(message, &field));
    case FieldDescriptor::CPPTYPE_BOOL:
      return fmt::format("{}", reflection.GetBool(message, &field));
    case FieldDescriptor::CPPTYPE_ENUM:
      return enum_name(*field.enum_type(), reflection.GetEnumValue(message, &field));
    case FieldDescriptor::CPPTYPE_STRING:
      return in_quotes(reflection.GetString(message, &field));
    default:
      return std::nullopt;
  }
}

std::optional<std::string> value_text(const Message& message, std::string_view path) {
  const std::size_t dot = path.find('.');
  const FieldDescriptor* field = find_field(*message.GetDescriptor(), path.substr(0, dot));
  if (field == nullptr) return std::nullopt;
  if (dot == std::string_view::npos) return value_text(message, *field);
  if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE || field->is_repeated()) return std::nullopt;
  return value_text(message.GetReflection()->GetMessage(message, field), path.substr(dot + 1));
}

// "; tensor is 2, devices is 3"
std::string current_values(const Message& message, const std::vector<std::string>& references) {
  std::vector<std::string> values;
  for (const std::string& reference : references) {
    const std::string name = reference.substr(reference.rfind('.') + 1);
    if (const auto value = value_text(message, reference))
      values.push_back(fmt::format("{} is {}", name, *value));
  }
  return values.empty() ? "" : fmt::format("; {}", joined(values));
}

// Whether a rule reads nothing of a section but whether it is there. Lists and maps are not there without the
// entries that have an error.
bool only_asks_for(const google::protobuf::Descriptor& type, std::string_view rule,
                   const std::string& reference) {
  const FieldDescriptor* field = find_field(type, reference);
  if (field == nullptr || field->is_repeated() || field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE)
    return false;
  const std::string name = "self." + reference;
  for (std::size_t at = rule.find(name); at != std::string_view::npos; at = rule.find(name, at + 1)) {
    if (!rule.substr(0, at).ends_with("has(") || rule.substr(at + name.size(), 1) != ")") return false;
  }
  return true;
}

class RuleChecker {
 public:
  RuleChecker(const Node& root, const UnreliableFields& unreliable) : root_(root), unreliable_(unreliable) {}

  std::vector<Diagnostic> take() { return std::move(broken_); }

  void check(const Message& message, const std::string& path) {
    const auto& options = message.GetDescriptor()->options();
    for (int i = 0; i < options.ExtensionSize(v1alpha1::cel); ++i) {
      check_rule(options.GetExtension(v1alpha1::cel, i), message, path);
    }
    for (int i = 0; i < message.GetDescriptor()->field_count(); ++i) {
      check_field(message, *message.GetDescriptor()->field(i), path);
    }
  }

 private:
  void check_field(const Message& message, const FieldDescriptor& field, const std::string& path) {
    if (field.cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE || field.is_map()) return;
    const Reflection& reflection = *message.GetReflection();
    const std::string field_path = joined_path(path, field.json_name());
    if (!field.is_repeated()) {
      if (reflection.HasField(message, &field)) check(reflection.GetMessage(message, &field), field_path);
      return;
    }
    for (int i = 0; i < reflection.FieldSize(message, &field); ++i) {
      check(reflection.GetRepeatedMessage(message, &field, i), fmt::format("{}[{}]", field_path, i));
    }
  }

  void check_rule(const CelRule& rule, const Message& message, const std::string& path) {
    const std::vector<std::string> references = references_of(rule.rule());
    // Whether a section is there is certain, whatever is wrong within it.
    const auto makes_doubtful = [&](const std::string& reference) {
      const std::string at = joined_path(path, reference);
      return only_asks_for(*message.GetDescriptor(), rule.rule(), reference) ? is_doubtful_itself(at)
                                                                             : is_doubtful(at);
    };
    if (std::ranges::any_of(references, makes_doubtful)) return;
    const std::string json = to_json(message);
    char* error = nullptr;
    const int verdict =
        caravan_cel_check(rule.rule().data(), rule.rule().size(), json.data(), json.size(), &error);
    const std::unique_ptr<char, decltype(&caravan_string_free)> owned(error, caravan_string_free);
    if (verdict == 0) return;
    const std::string where = joined_path(path, rule.field_path());
    const int line = deepest_entry(root_, where).line;
    const std::string sentence = rule.message() + current_values(message, references);
    broken_.push_back({line, where, error == nullptr ? sentence : cannot_evaluate(rule, error)});
  }

  static std::string cannot_evaluate(const CelRule& rule, const char* error) {
    return fmt::format("the rule \"{}\" cannot be evaluated: {}", rule.rule(), error);
  }

  bool is_doubtful(const std::string& path) const {
    return is_doubtful_itself(path) ||
           std::any_of(unreliable_.invalid.begin(), unreliable_.invalid.end(),
                       [&](const std::string& wrong) { return contains(path, wrong); });
  }

  bool is_doubtful_itself(const std::string& path) const {
    const auto is_wrong = [&](const std::string& wrong) { return contains(wrong, path); };
    const auto may_be_misspelt = [&](const std::string& message) {
      if (!contains(message, path) || message == path) return false;
      const std::string relative = path.substr(message.empty() ? 0 : message.size() + 1);
      return find_entry(deepest_entry(root_, message), relative.substr(0, relative.find('.'))) == nullptr;
    };
    return std::any_of(unreliable_.invalid.begin(), unreliable_.invalid.end(), is_wrong) ||
           std::any_of(unreliable_.incomplete.begin(), unreliable_.incomplete.end(), may_be_misspelt);
  }

  const Node& root_;
  const UnreliableFields& unreliable_;
  std::vector<Diagnostic> broken_;
};

}  // namespace

std::vector<std::string> references_of(std::string_view rule) {
  constexpr std::string_view kSelf = "self.";
  std::vector<std::string> references;
  for (std::size_t at = rule.find(kSelf); at != std::string_view::npos; at = rule.find(kSelf, at)) {
    at += kSelf.size();
    std::size_t end = at;
    while (end < rule.size() && (is_name_character(rule[end]) || rule[end] == '.')) ++end;
    std::string reference(rule.substr(at, end - at));
    const bool is_call = end < rule.size() && rule[end] == '(';
    if (is_call) reference.resize(reference.find('.') == std::string::npos ? 0 : reference.rfind('.'));
    const bool is_new = std::find(references.begin(), references.end(), reference) == references.end();
    if (is_new) references.push_back(std::move(reference));
    at = end;
  }
  return references;
}

std::vector<Diagnostic> violated_cel_rules(const Node& root, const Message& message,
                                           const UnreliableFields& unreliable) {
  RuleChecker checker(root, unreliable);
  checker.check(message, "");
  return checker.take();
}

}  // namespace caravan::schema
