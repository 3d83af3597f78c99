// The looks of strings: formats, lengths and bounds that options.proto gives a field.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "caravan/v1alpha1/options.pb.h"

namespace caravan::schema {

// "a decimal number from 0 to 100, such as \"3e-4\""
std::string describe_format(const v1alpha1::FieldRules& rules);

// What the API server checks the text of a format by, in the syntax of RE2; empty when anything goes. It
// holds for what `broken_format` accepts, and for little else: numbers may still be out of bounds, and an
// exponent has two digits.
std::string_view pattern_of(v1alpha1::StringFormat::Value format);

// The sentence that says why `text` breaks the rules; nothing when it keeps them.
std::optional<std::string> broken_format(const v1alpha1::FieldRules& rules, std::string_view text);

}  // namespace caravan::schema
