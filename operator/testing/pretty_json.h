// JSON with one entry a line, for golden files that people read.
#pragma once

#include <boost/json/serialize.hpp>
#include <string>

#include "kube/api/json.h"

namespace caravan::controller::testing {

inline std::string pretty(const kube::Json& value, const std::string& indent = "") {
  const std::string inner = indent + "  ";
  std::string text;
  if (value.is_object() && !value.get_object().empty()) {
    for (const auto& entry : value.get_object()) {
      text += (text.empty() ? "{\n" : ",\n") + inner + '"' + std::string(entry.key()) +
              "\": " + pretty(entry.value(), inner);
    }
    return text + "\n" + indent + "}";
  }
  if (value.is_array() && !value.get_array().empty()) {
    for (const kube::Json& item : value.get_array())
      text += (text.empty() ? "[\n" : ",\n") + inner + pretty(item, inner);
    return text + "\n" + indent + "]";
  }
  return boost::json::serialize(value);
}

}  // namespace caravan::controller::testing
