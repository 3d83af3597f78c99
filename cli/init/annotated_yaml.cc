#include "cli/init/annotated_yaml.h"

#include <fmt/format.h>
#include <google/protobuf/descriptor.h>

#include <algorithm>
#include <cctype>

#include "common/json.h"
#include "common/schema/field_descriptions.h"
#include "common/schema/plain_scalar.h"
#include "planner/explain/table.h"

namespace caravan::cli {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

constexpr int kWidth = 100;

std::string comment_lines(const FieldDescriptor& field, const std::string& prefix) {
  const int room = kWidth - static_cast<int>(prefix.size()) - 2;
  std::string lines;
  for (const std::string& line : planner::wrap(schema::compiled_description_of(field), room))
    lines += fmt::format("{}# {}\n", prefix, line);
  return lines;
}

std::string scalar_of(const Message& message, const FieldDescriptor& field) {
  const auto& reflection = *message.GetReflection();
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return fmt::format("{}", reflection.GetInt32(message, &field));
    case FieldDescriptor::CPPTYPE_BOOL:
      return reflection.GetBool(message, &field) ? "true" : "false";
    case FieldDescriptor::CPPTYPE_ENUM:
      return enum_name(*field.enum_type(), reflection.GetEnumValue(message, &field)).value();
    default:
      return yaml_scalar(reflection.GetString(message, &field));
  }
}

bool has(const Message& message, const FieldDescriptor& field) {
  return !field.is_repeated() && message.GetReflection()->HasField(message, &field);
}

const Message& inner(const Message& message, const FieldDescriptor& field) {
  return message.GetReflection()->GetMessage(message, &field);
}

// prefix: what every line begins with, with a '#' where the whole message is commented out.
std::string lines_of(const Message& given, const Message& suggested, const std::string& prefix) {
  std::string text;
  const auto& type = *given.GetDescriptor();
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor& field = *type.field(i);
    const bool is_given = has(given, field);
    if (!is_given && !has(suggested, field)) continue;
    const bool is_commented_out = !is_given && prefix.find('#') == std::string::npos;
    const std::string start = fmt::format("{}{}", prefix, is_commented_out ? "#" : "");
    text += fmt::format("{}{}{}:", comment_lines(field, prefix), start, field.json_name());
    if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      text += fmt::format("\n{}",
                          lines_of(inner(given, field), inner(suggested, field), fmt::format("{}  ", start)));
    } else {
      text += fmt::format(" {}\n", scalar_of(is_given ? given : suggested, field));
    }
  }
  return text;
}

}  // namespace

std::string yaml_scalar(const std::string& text) {
  const auto is_plain = [](unsigned char c) {
    return std::isalnum(c) || std::string_view("._/-").find(c) != std::string_view::npos;
  };
  const bool starts_plainly =
      !text.empty() && (std::isalpha(static_cast<unsigned char>(text.front())) || text.front() == '/');
  const bool is_text = schema::plain_scalar(text) == schema::PlainScalar::kText;
  return starts_plainly && is_text && std::ranges::all_of(text, is_plain) ? text : json_string(text);
}

std::string annotated_yaml(const Message& given, const Message& suggested, int indentation) {
  return lines_of(given, suggested, std::string(static_cast<std::size_t>(indentation), ' '));
}

}  // namespace caravan::cli
