// Tokens as callers show them, over gRPC and over HTTP.
#pragma once

#include <string>
#include <string_view>

namespace caravan {

// Of "Bearer TOKEN", as `authorization` has it; empty: there is none.
inline std::string bearer_in(std::string_view authorization) {
  constexpr std::string_view kBearer = "Bearer ";
  return authorization.starts_with(kBearer) ? std::string(authorization.substr(kBearer.size())) : "";
}

}  // namespace caravan
