#include "common/json.h"

#include <fmt/format.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <vector>

#include "common/utf8.h"

namespace caravan {
namespace {

using google::protobuf::EnumDescriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

void append_escaped(std::string& out, char c) {
  switch (c) {
    case '"':
      out += "\\\"";
      return;
    case '\\':
      out += "\\\\";
      return;
    case '\n':
      out += "\\n";
      return;
    case '\r':
      out += "\\r";
      return;
    case '\t':
      out += "\\t";
      return;
    default:
      if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
        out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
      } else {
        out += c;
      }
  }
}

// A control character of two bytes, which JSON would let pass to the terminal of who reads it.
bool is_of_c1(std::string_view character) {
  return character[0] == '\xC2' && static_cast<unsigned char>(character[1]) < 0xA0;
}

void append_string(std::string& out, std::string_view text) {
  constexpr std::string_view kReplacementCharacter = "\xEF\xBF\xBD";
  out += '"';
  while (!text.empty()) {
    const std::size_t length = utf8_sequence_length(text);
    if (length == 0) {
      out += kReplacementCharacter;
    } else if (length == 1) {
      append_escaped(out, text.front());
    } else if (length == 2 && is_of_c1(text)) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned char>(text[1]));
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  out += '"';
}

class Writer {
 public:
  explicit Writer(JsonLayout layout) : indented_(layout == JsonLayout::kIndented) {}

  std::string take() { return std::move(out_); }

  void message(const Message& m) {
    open('{');
    for (int i = 0; i < m.GetDescriptor()->field_count(); ++i) {
      const FieldDescriptor* field = m.GetDescriptor()->field(i);
      if (is_left_out(m, field)) continue;
      key(field->json_name());
      if (field->is_map()) {
        map(m, field);
      } else if (field->is_repeated()) {
        list(m, field);
      } else {
        value(m, field);
      }
    }
    close('}');
  }

 private:
  static bool is_left_out(const Message& m, const FieldDescriptor* field) {
    const Reflection& reflection = *m.GetReflection();
    if (field->is_repeated()) return reflection.FieldSize(m, field) == 0;
    if (field->has_presence()) return !reflection.HasField(m, field);
    const auto type = field->cpp_type();
    const bool has_empty_value =
        type == FieldDescriptor::CPPTYPE_STRING || type == FieldDescriptor::CPPTYPE_ENUM;
    return has_empty_value && !reflection.HasField(m, field);
  }

  // The field itself, or with an index its element.
  void value(const Message& m, const FieldDescriptor* f, std::optional<int> index = std::nullopt) {
    const Reflection& r = *m.GetReflection();
    const int i = index.value_or(0);
    switch (f->cpp_type()) {
      case FieldDescriptor::CPPTYPE_INT32:
        return integer(index ? r.GetRepeatedInt32(m, f, i) : r.GetInt32(m, f));
      case FieldDescriptor::CPPTYPE_INT64:
        return integer(index ? r.GetRepeatedInt64(m, f, i) : r.GetInt64(m, f));
      case FieldDescriptor::CPPTYPE_UINT32:
        return integer(index ? r.GetRepeatedUInt32(m, f, i) : r.GetUInt32(m, f));
      case FieldDescriptor::CPPTYPE_UINT64:
        return integer(index ? r.GetRepeatedUInt64(m, f, i) : r.GetUInt64(m, f));
      case FieldDescriptor::CPPTYPE_DOUBLE:
        return number(index ? r.GetRepeatedDouble(m, f, i) : r.GetDouble(m, f));
      case FieldDescriptor::CPPTYPE_FLOAT:
        return number(index ? r.GetRepeatedFloat(m, f, i) : r.GetFloat(m, f));
      case FieldDescriptor::CPPTYPE_BOOL:
        return boolean(index ? r.GetRepeatedBool(m, f, i) : r.GetBool(m, f));
      case FieldDescriptor::CPPTYPE_ENUM:
        return enumeration(*f->enum_type(), index ? r.GetRepeatedEnumValue(m, f, i) : r.GetEnumValue(m, f));
      case FieldDescriptor::CPPTYPE_STRING:
        return string(index ? r.GetRepeatedString(m, f, i) : r.GetString(m, f));
      case FieldDescriptor::CPPTYPE_MESSAGE:
        return message(index ? r.GetRepeatedMessage(m, f, i) : r.GetMessage(m, f));
    }
  }

  template <typename Integer>
  void integer(Integer value) {
    out_ += fmt::format_int(value).str();
  }
  void number(double value) { out_ += json_number(value); }
  void boolean(bool value) { out_ += value ? "true" : "false"; }
  void string(std::string_view value) { append_string(out_, value); }
  void enumeration(const EnumDescriptor& type, int number) {
    const auto name = enum_name(type, number);
    name ? string(*name) : integer(number);
  }

  void list(const Message& m, const FieldDescriptor* field) {
    open('[');
    for (int i = 0; i < m.GetReflection()->FieldSize(m, field); ++i) {
      separate();
      value(m, field, i);
    }
    close(']');
  }

  // Map entries are messages with a key and a value; their order in memory is not stable.
  void map(const Message& m, const FieldDescriptor* field) {
    const FieldDescriptor* key_field = field->message_type()->map_key();
    const FieldDescriptor* value_field = field->message_type()->map_value();
    std::vector<std::pair<std::string, const Message*>> entries;
    for (int i = 0; i < m.GetReflection()->FieldSize(m, field); ++i) {
      const Message& entry = m.GetReflection()->GetRepeatedMessage(m, field, i);
      entries.emplace_back(entry.GetReflection()->GetString(entry, key_field), &entry);
    }
    std::sort(entries.begin(), entries.end());
    open('{');
    for (const auto& [name, entry] : entries) {
      key(name);
      value(*entry, value_field);
    }
    close('}');
  }

  void open(char bracket) {
    out_ += bracket;
    ++depth_;
    empty_ = true;
  }

  void close(char bracket) {
    --depth_;
    if (!empty_) break_line();
    out_ += bracket;
    empty_ = false;
  }

  void separate() {
    if (!empty_) out_ += ',';
    break_line();
    empty_ = false;
  }

  void key(std::string_view name) {
    separate();
    append_string(out_, name);
    out_ += indented_ ? ": " : ":";
  }

  void break_line() {
    if (indented_) out_.append(1, '\n').append(2 * depth_, ' ');
  }

  const bool indented_;
  std::string out_;
  std::size_t depth_ = 0;
  bool empty_ = true;  // nothing stands yet in the innermost open bracket
};

}  // namespace

std::string json_string(std::string_view text) {
  std::string out;
  append_string(out, text);
  return out;
}

std::string json_number(double value) {
  if (!std::isfinite(value)) return "null";
  std::array<char, 32> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value);
  return {digits.data(), end.ptr};
}

std::optional<std::string> enum_name(const EnumDescriptor& type, int number) {
  const auto* value = type.FindValueByNumber(number);
  return value == nullptr ? std::nullopt : std::optional(value->name());
}

std::string to_json(const Message& message, JsonLayout layout) {
  Writer writer(layout);
  writer.message(message);
  return writer.take();
}

Status parse_json(std::string_view text, Message& message) {
  if (const auto at = first_invalid_utf8(text)) {
    return bad_input(fmt::format("{}: byte {} is not UTF-8", message.GetDescriptor()->name(), *at));
  }
  const auto parsed = google::protobuf::util::JsonStringToMessage(
      google::protobuf::StringPiece(text.data(), text.size()), &message);
  if (parsed.ok()) return {};
  return bad_input(fmt::format("this is no JSON of a {}: {}", message.GetDescriptor()->name(),
                               std::string(parsed.message())));
}

}  // namespace caravan
