// A field that an object in JSON has twice, of which parsers keep the last one without a word. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace caravan::service {

// The first one, as "spec.training.steps", safe to print; nothing: there is none, or the text is no JSON of
// that depth.
std::optional<std::string> repeated_field(std::string_view json, std::size_t deepest);

}  // namespace caravan::service
