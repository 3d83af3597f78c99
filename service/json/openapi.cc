#include "service/json/openapi.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <boost/json/serialize.hpp>
#include <vector>

#include "common/lower_case.h"
#include "common/schema/field_descriptions.h"
#include "common/schema/field_rules.h"
#include "kube/api/json.h"
#include "service/json/route.h"

namespace caravan::service {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::MethodDescriptor;
using kube::Json;
using kube::JsonArray;
using kube::JsonObject;

JsonArray list_of(const std::vector<std::string>& texts) {
  return JsonArray(texts.begin(), texts.end());
}

JsonObject reference_to(const std::string& name) {
  return {{"$ref", "#/components/schemas/" + name}};
}

// How a message is named among the schemas.
std::string name_of(const Descriptor& type) {
  return type.containing_type() == nullptr ? type.name() : name_of(*type.containing_type()) + type.name();
}

JsonObject integer_schema(const FieldDescriptor& field, const char* format) {
  const v1alpha1::FieldRules& rules = schema::rules_of(field);
  JsonObject schema{{"type", "integer"}, {"format", format}};
  if (rules.has_minimum()) schema["minimum"] = rules.minimum();
  if (rules.has_maximum()) schema["maximum"] = rules.maximum();
  return schema;
}

JsonObject string_schema(const FieldDescriptor& field) {
  const v1alpha1::FieldRules& rules = schema::rules_of(field);
  JsonObject schema{{"type", "string"}};
  if (const auto choices = schema::choices_of(field); !choices.empty()) schema["enum"] = list_of(choices);
  if (rules.max_length() > 0) schema["maxLength"] = rules.max_length();
  return schema;
}

// Of one value: the field's, or that of a list's entry.
JsonObject value_schema(const FieldDescriptor& field) {
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return integer_schema(field, "int32");
    case FieldDescriptor::CPPTYPE_INT64:
    case FieldDescriptor::CPPTYPE_UINT32:
    case FieldDescriptor::CPPTYPE_UINT64:
      return integer_schema(field, "int64");
    case FieldDescriptor::CPPTYPE_DOUBLE:
    case FieldDescriptor::CPPTYPE_FLOAT:
      return {{"type", "number"}, {"nullable", true}};
    case FieldDescriptor::CPPTYPE_BOOL:
      return {{"type", "boolean"}};
    case FieldDescriptor::CPPTYPE_ENUM:
      return {{"type", "string"}, {"enum", list_of(schema::names_of(*field.enum_type()))}};
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return reference_to(name_of(*field.message_type()));
    case FieldDescriptor::CPPTYPE_STRING:
      break;
  }
  return string_schema(field);
}

JsonObject type_of(const FieldDescriptor& field) {
  if (field.is_map())
    return {{"type", "object"}, {"additionalProperties", value_schema(*field.message_type()->map_value())}};
  if (!field.is_repeated()) return value_schema(field);
  JsonObject list{{"type", "array"}, {"items", value_schema(field)}};
  if (const auto most = schema::rules_of(field).max_items(); most > 0) list["maxItems"] = most;
  return list;
}

// JSON has no words for what a floating point number may be, such as the loss of a run that diverges.
constexpr char kNull[] = "Null: NaN or infinity.";

bool may_be_null(const FieldDescriptor& field) {
  return field.cpp_type() == FieldDescriptor::CPPTYPE_DOUBLE ||
         field.cpp_type() == FieldDescriptor::CPPTYPE_FLOAT;
}

// Of the schema's comments; beside a reference it stands around it, as OpenAPI 3.0 has it.
JsonObject field_schema(const FieldDescriptor& field) {
  JsonObject type = type_of(field);
  std::string words = schema::description_of(field);
  if (may_be_null(field)) words += words.empty() ? kNull : fmt::format(" {}", kNull);
  if (words.empty()) return type;
  if (type.contains("$ref")) type = {{"allOf", JsonArray{std::move(type)}}};
  type["description"] = words;
  return type;
}

JsonObject message_schema(const Descriptor& type) {
  JsonObject schema{{"type", "object"}};
  if (const std::string words = schema::comment_of(type); !words.empty()) schema["description"] = words;
  JsonObject properties;
  JsonArray required;
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor& field = *type.field(i);
    properties[field.json_name()] = field_schema(field);
    if (schema::rules_of(field).required()) required.emplace_back(field.json_name());
  }
  if (!properties.empty()) schema["properties"] = std::move(properties);
  if (!required.empty()) schema["required"] = std::move(required);
  return schema;
}

void add_message(const Descriptor& type, JsonObject& schemas) {
  if (!schemas.emplace(name_of(type), JsonObject()).second) return;
  schemas[name_of(type)] = message_schema(type);
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor& field = *type.field(i);
    const Descriptor* inner =
        field.is_map() ? field.message_type()->map_value()->message_type() : field.message_type();
    if (inner != nullptr) add_message(*inner, schemas);
  }
}

// "/v1alpha1/namespaces/{namespace}/jobs/{job}:suspend", with what stands in braces.
std::pair<std::string, std::vector<std::string>> path_of(const Route& route) {
  std::string path;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < route.segments.size(); ++i) {
    path += '/';
    if (route.segments[i] != "*") {
      path += route.segments[i];
      continue;
    }
    const std::string& many = route.segments[i - 1];  // namespaces
    names.push_back(many.substr(0, many.size() - 1));
    path += fmt::format("{{{}}}", names.back());
  }
  return {path + route.ending, names};
}

JsonObject content(const char* type, JsonObject schema) {
  return {{"content", JsonObject{{type, JsonObject{{"schema", std::move(schema)}}}}}};
}

// All of the request that path and query do not have.
JsonObject body_schema(const Route& route) {
  const Descriptor& type = *route.method->input_type();
  if (route.body != "*") return reference_to(name_of(*type.FindFieldByName(route.body)->message_type()));
  JsonObject properties;
  for (int i = 0; i < type.field_count(); ++i) {
    if (type.field(i) != route.field) properties[type.field(i)->json_name()] = field_schema(*type.field(i));
  }
  return {{"type", "object"}, {"properties", std::move(properties)}};
}

std::vector<const Descriptor*> messages_in_body(const Route& route) {
  std::vector<const Descriptor*> all;
  const Descriptor& type = *route.method->input_type();
  for (int i = 0; i < type.field_count(); ++i) {
    const bool is_there = route.body == "*" || type.field(i)->name() == route.body;
    if (is_there && type.field(i)->message_type() != nullptr) all.push_back(type.field(i)->message_type());
  }
  return all;
}

JsonArray parameters(const Route& route, const std::vector<std::string>& in_path) {
  JsonArray all;
  for (const std::string& name : in_path)
    all.push_back(JsonObject{
        {"name", name}, {"in", "path"}, {"required", true}, {"schema", JsonObject{{"type", "string"}}}});
  for (const FieldDescriptor* field : parameters_of(route)) {
    JsonObject parameter{{"name", field->json_name()}, {"in", "query"}};
    if (const std::string words = schema::description_of(*field); !words.empty())
      parameter["description"] = words;
    parameter["schema"] = type_of(*field);
    all.push_back(std::move(parameter));
  }
  return all;
}

JsonObject responses(const MethodDescriptor& method) {
  const bool is_stream = method.server_streaming();
  JsonObject good = content(is_stream ? "text/event-stream" : "application/json",
                            reference_to(name_of(*method.output_type())));
  good["description"] = is_stream
                            ? "Server-sent events, each with one message as its data; an event of the type "
                              "fault has a Status and is the last."
                            : "Done.";
  JsonObject bad = content("application/json", reference_to("Status"));
  bad["description"] = "Not done; the status of HTTP is that of the code in google/rpc/code.proto.";
  return {{"200", std::move(good)}, {"default", std::move(bad)}};
}

JsonObject operation(const Route& route, const std::vector<std::string>& in_path) {
  JsonObject operation{{"operationId", route.method->name()}};
  if (const std::string words = schema::comment_of(*route.method); !words.empty())
    operation["description"] = words;
  operation["parameters"] = parameters(route, in_path);
  if (!route.body.empty()) {
    JsonObject body = content("application/json", body_schema(route));
    if (route.body != "*") body["required"] = true;
    operation["requestBody"] = std::move(body);
  }
  operation["responses"] = responses(*route.method);
  return operation;
}

// google.rpc.Status, as protobuf prints it.
JsonObject status_schema() {
  const JsonObject detail{{"type", "object"},
                          {"properties", JsonObject{{"@type", JsonObject{{"type", "string"}}}}},
                          {"additionalProperties", true}};
  return {{"type", "object"},
          {"description",
           "Why a method did not do what it was asked for. One of the details is a "
           "google.rpc.ErrorInfo with a reason for programs."},
          {"properties", JsonObject{{"code", JsonObject{{"type", "integer"}, {"format", "int32"}}},
                                    {"message", JsonObject{{"type", "string"}}},
                                    {"details", JsonObject{{"type", "array"}, {"items", detail}}}}}};
}

// The same JSON with a line for each value.
std::string indented(std::string_view json) {
  std::string text;
  std::size_t depth = 0;
  bool in_string = false;
  const auto new_line = [&] { text.append(1, '\n').append(2 * depth, ' '); };
  for (std::size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    const bool closes = !in_string && (c == '}' || c == ']');
    const bool opens = !in_string && (c == '{' || c == '[');
    const bool is_empty = (closes && (json[i - 1] == '{' || json[i - 1] == '[')) ||
                          (opens && (json[i + 1] == '}' || json[i + 1] == ']'));
    if (closes && !is_empty) {
      --depth;
      new_line();
    }
    text += c;
    if (in_string && c == '\\') text += json[++i];
    if (c == '"') in_string = !in_string;
    if (opens && !is_empty) {
      ++depth;
      new_line();
    }
    if (in_string) continue;
    if (c == ',') new_line();
    if (c == ':') text += ' ';
  }
  return text;
}

}  // namespace

std::string openapi_document(const google::protobuf::ServiceDescriptor& service) {
  JsonObject paths;
  JsonObject schemas;
  const Routes routes(service);
  for (const Route& route : routes.all()) {
    const auto [path, in_path] = path_of(route);
    Json& item = paths[path];
    if (!item.is_object()) item = JsonObject();
    item.get_object()[lower_case(route.verb)] = operation(route, in_path);
    add_message(*route.method->output_type(), schemas);
    for (const Descriptor* type : messages_in_body(route)) add_message(*type, schemas);
  }
  schemas["Status"] = status_schema();
  const JsonObject bearer{{"type", "http"}, {"scheme", "bearer"}};
  const JsonObject document{
      {"openapi", "3.0.3"},
      {"info", JsonObject{{"title", "Caravan job service"}, {"version", service.file()->package()}}},
      {"security", JsonArray{JsonObject{{"token", JsonArray()}}}},
      {"paths", std::move(paths)},
      {"components",
       JsonObject{{"securitySchemes", JsonObject{{"token", bearer}}}, {"schemas", std::move(schemas)}}}};
  return indented(boost::json::serialize(document)) + "\n";
}

}  // namespace caravan::service
