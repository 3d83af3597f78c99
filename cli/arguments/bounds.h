// The bounds of an option that stands for a field of a message.
#pragma once

#include <CLI/CLI.hpp>
#include <string_view>

#include "common/schema/field_rules.h"

namespace caravan::cli {

// As the schema has it.
template <typename Message>
CLI::Range bounds_of(std::string_view field) {
  const auto& rules = schema::rules_of(*schema::find_field(*Message::descriptor(), field));
  return {static_cast<int>(rules.minimum()), static_cast<int>(rules.maximum())};
}

}  // namespace caravan::cli
