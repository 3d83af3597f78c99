#include "kube/api/json.h"

#include <fmt/format.h>

#include <boost/json/parse.hpp>

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

}  // namespace caravan::kube
