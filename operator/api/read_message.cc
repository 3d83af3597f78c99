#include "operator/api/read_message.h"

#include <fmt/format.h>

#include "common/schema/field_rules.h"

namespace caravan::controller {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;
using kube::Json;

class Reader {
 public:
  explicit Reader(Unknown unknown) : unknown_(unknown) {}

  Status message(const Json& from, Message& into) const {
    if (!from.is_object()) return expected("an object");
    for (const auto& entry : from.get_object()) {
      if (entry.value().is_null()) continue;
      if (Status read = member(entry.key(), entry.value(), into); !read)
        return bad_input(fmt::format("{}: {}", std::string_view(entry.key()), read.error().message));
    }
    return {};
  }

 private:
  static tl::unexpected<Error> expected(const char* what) {
    return bad_input(fmt::format("expected {}", what));
  }

  Status member(std::string_view name, const Json& from, Message& into) const {
    const FieldDescriptor* field = schema::find_field(*into.GetDescriptor(), name);
    if (field == nullptr)
      return unknown_ == Unknown::kRefused ? Status(bad_input("unknown field")) : Status();
    if (field->is_map()) return map(from, into, *field);
    if (!field->is_repeated()) return value(from, into, *field);
    if (!from.is_array()) return expected("a list");
    for (const Json& item : from.get_array()) {
      if (Status read = value(item, into, *field); !read) return read;
    }
    return {};
  }

  Status map(const Json& from, Message& into, const FieldDescriptor& field) const {
    if (!from.is_object()) return expected("an object");
    for (const auto& entry : from.get_object()) {
      Message& added = *into.GetReflection()->AddMessage(&into, &field);
      added.GetReflection()->SetString(&added, field.message_type()->map_key(), std::string(entry.key()));
      if (Status read = value(entry.value(), added, *field.message_type()->map_value()); !read) return read;
    }
    return {};
  }

  // Sets the field, or appends to it.
  Status value(const Json& from, Message& into, const FieldDescriptor& field) const {
    const Reflection& all = *into.GetReflection();
    const bool append = field.is_repeated();
    switch (field.cpp_type()) {
      case FieldDescriptor::CPPTYPE_INT32:
        return number<std::int32_t>(from, "a whole number of 32 bits", [&](std::int32_t n) {
          append ? all.AddInt32(&into, &field, n) : all.SetInt32(&into, &field, n);
        });
      case FieldDescriptor::CPPTYPE_INT64:
        return number<std::int64_t>(from, "a whole number", [&](std::int64_t n) {
          append ? all.AddInt64(&into, &field, n) : all.SetInt64(&into, &field, n);
        });
      case FieldDescriptor::CPPTYPE_UINT32:
        return number<std::uint32_t>(from, "a whole number from 0", [&](std::uint32_t n) {
          append ? all.AddUInt32(&into, &field, n) : all.SetUInt32(&into, &field, n);
        });
      case FieldDescriptor::CPPTYPE_DOUBLE:
        return number<double>(from, "a number", [&](double n) {
          append ? all.AddDouble(&into, &field, n) : all.SetDouble(&into, &field, n);
        });
      case FieldDescriptor::CPPTYPE_BOOL:
        if (!from.is_bool()) return expected("true or false");
        append ? all.AddBool(&into, &field, from.get_bool()) : all.SetBool(&into, &field, from.get_bool());
        return {};
      case FieldDescriptor::CPPTYPE_STRING:
        if (!from.is_string()) return expected("a string");
        append ? all.AddString(&into, &field, std::string(from.get_string()))
               : all.SetString(&into, &field, std::string(from.get_string()));
        return {};
      case FieldDescriptor::CPPTYPE_ENUM:
        return choice(from, into, field);
      case FieldDescriptor::CPPTYPE_MESSAGE:
        return message(from, append ? *all.AddMessage(&into, &field) : *all.MutableMessage(&into, &field));
      default:
        return expected("a type that is read here");
    }
  }

  template <typename Number, typename Set>
  static Status number(const Json& from, const char* what, Set set) {
    boost::json::error_code inexact;
    const auto read = from.is_number() ? from.to_number<Number>(inexact) : Number{};
    if (!from.is_number() || inexact) return expected(what);
    set(read);
    return {};
  }

  Status choice(const Json& from, Message& into, const FieldDescriptor& field) const {
    const Reflection& all = *into.GetReflection();
    const auto* found =
        from.is_string() ? field.enum_type()->FindValueByName(std::string(from.get_string())) : nullptr;
    if (found == nullptr)
      return unknown_ == Unknown::kDropped ? Status() : Status(bad_input("unknown value"));
    field.is_repeated() ? all.AddEnum(&into, &field, found) : all.SetEnum(&into, &field, found);
    return {};
  }

  Unknown unknown_;
};

}  // namespace

Status read_message(const Json& from, Message& into, Unknown unknown) {
  return Reader(unknown).message(from, into);
}

}  // namespace caravan::controller
