// JSON that a later version may have written.
//
// Fields and values of enumerations that this version does not know are left out, and named: a value that is
// left out may change what the rest says, which the caller has to judge. Errors are those of common/json.h.
#pragma once

#include <string>
#include <string_view>

#include "common/json.h"

namespace caravan {

// What was left out, as a sentence; empty: nothing.
Result<std::string> parse_json_of_any_version(std::string_view text, google::protobuf::Message& message);

template <typename M>
struct OfAnyVersion {
  M message;
  std::string left_out;
};

template <typename M>
Result<OfAnyVersion<M>> from_json_of_any_version(std::string_view text) {
  OfAnyVersion<M> read;
  auto left_out = parse_json_of_any_version(text, read.message);
  if (!left_out) return tl::unexpected(left_out.error());
  read.left_out = *std::move(left_out);
  return read;
}

}  // namespace caravan
