// Order of resourceVersions: decimal integers of any length, comparable within one resource type (KEP-5504).
#pragma once

#include <compare>
#include <string_view>

namespace caravan::kube {

// By length, then digit by digit: no integer type is long enough by contract. The empty version is older than
// any.
std::strong_ordering compare_versions(std::string_view left, std::string_view right);

}  // namespace caravan::kube
