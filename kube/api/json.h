// The document type of this room, and reading fields of documents that others wrote.
//
// Reading never fails: what is absent or of another type reads as nothing. Parsing accepts the nesting of
// real Kubernetes objects (the library's default of 32 levels refuses schemas).
#pragma once

#include <boost/json/value.hpp>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "common/result.h"

namespace caravan::kube {

using Json = boost::json::value;
using JsonObject = boost::json::object;
using JsonArray = boost::json::array;
using JsonPath = std::initializer_list<std::string_view>;

inline constexpr std::size_t kDeepestObject = 512;

// `what` names the text in the error.
Result<Json> parse_json(std::string_view text, std::string_view what, std::size_t deepest = kDeepestObject);

// Null when a field of the path is absent.
const Json* find(const Json& from, JsonPath path);
std::string text_at(const Json& from, JsonPath path);
bool flag_at(const Json& from, JsonPath path);
std::optional<std::int64_t> integer_at(const Json& from, JsonPath path);
const JsonArray& array_at(const Json& from, JsonPath path);
// Labels, annotations and the like: the fields there that are texts.
std::map<std::string, std::string> texts_at(const Json& from, JsonPath path);
// Those of the fields of the object at `path` that are there.
JsonObject fields_of(const Json& from, JsonPath path, std::initializer_list<std::string_view> names);
// Of a status's conditions; null where none is of that type.
const Json* find_condition(const JsonArray& conditions, std::string_view type);
Json* find_condition(JsonArray& conditions, std::string_view type);

}  // namespace caravan::kube
