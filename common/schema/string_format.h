// The looks of strings: formats, lengths and bounds that options.proto gives a field.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "caravan/v1alpha1/options.pb.h"

namespace caravan::schema {

// "a decimal number from 0 to 100, such as \"3e-4\""
std::string describe_format(const v1alpha1::FieldRules& rules);

// The sentence that says why `text` breaks the rules; nothing when it keeps them.
std::optional<std::string> broken_format(const v1alpha1::FieldRules& rules, std::string_view text);

}  // namespace caravan::schema
