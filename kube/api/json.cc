#include "kube/api/json.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/parse.hpp>
#include <utility>

namespace caravan::kube {

Result<Json> parse_json(std::string_view text, std::string_view what, std::size_t deepest) {
  boost::json::parse_options options;
  options.max_depth = deepest;
  boost::json::error_code error;
  Json value = boost::json::parse({text.data(), text.size()}, error, {}, options);
  if (error) return failure(fmt::format("{} is no JSON: {}", what, error.message()));
  return value;
}

const Json* find(const Json& from, JsonPath path) {
  const Json* at = &from;
  for (const std::string_view field : path) {
    const JsonObject* object = at->if_object();
    at = object == nullptr ? nullptr : object->if_contains({field.data(), field.size()});
    if (at == nullptr) return nullptr;
  }
  return at;
}

std::string text_at(const Json& from, JsonPath path) {
  const Json* value = find(from, path);
  if (value == nullptr || !value->is_string()) return {};
  return std::string(value->get_string());
}

bool flag_at(const Json& from, JsonPath path) {
  const Json* value = find(from, path);
  return value != nullptr && value->is_bool() && value->get_bool();
}

std::optional<std::int64_t> integer_at(const Json& from, JsonPath path) {
  const Json* value = find(from, path);
  if (value == nullptr || !value->is_int64()) return std::nullopt;
  return value->get_int64();
}

const JsonArray& array_at(const Json& from, JsonPath path) {
  static const JsonArray kNothing;
  const Json* value = find(from, path);
  return value != nullptr && value->is_array() ? value->get_array() : kNothing;
}

std::map<std::string, std::string> texts_at(const Json& from, JsonPath path) {
  std::map<std::string, std::string> texts;
  const Json* found = find(from, path);
  if (found == nullptr || !found->is_object()) return texts;
  for (const auto& entry : found->get_object()) {
    if (entry.value().is_string()) texts[entry.key()] = std::string(entry.value().get_string());
  }
  return texts;
}

JsonObject fields_of(const Json& from, JsonPath path, std::initializer_list<std::string_view> names) {
  JsonObject fields;
  const Json* object = find(from, path);
  if (object == nullptr) return fields;
  for (const std::string_view name : names) {
    if (const Json* value = find(*object, {name})) fields[name] = *value;
  }
  return fields;
}

const Json* find_condition(const JsonArray& conditions, std::string_view type) {
  const auto found = std::ranges::find_if(
      conditions, [&](const Json& condition) { return text_at(condition, {"type"}) == type; });
  return found == conditions.end() ? nullptr : &*found;
}

Json* find_condition(JsonArray& conditions, std::string_view type) {
  return const_cast<Json*>(find_condition(std::as_const(conditions), type));
}

}  // namespace caravan::kube
