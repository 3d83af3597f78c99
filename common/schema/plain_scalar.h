// What kubectl's YAML reader takes text without quotes for (sigs.k8s.io/yaml, goyaml.v2/resolve.go): words of
// YAML 1.1, and numbers as Go's ParseInt and ParseFloat know them. So it reaches the API server, whatever
// field it stands in. Pure.
#pragma once

#include <string_view>

namespace caravan::schema {

enum class PlainScalar { kText, kBoolean, kNumber, kNull };

// Stricter than that reader in this: numbers beyond a double, and with '_' beside a point, are numbers too.
PlainScalar plain_scalar(std::string_view text);

}  // namespace caravan::schema
