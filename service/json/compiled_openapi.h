// The OpenAPI document of this program's own schema (openapi.h), which has the schema's comments.
#pragma once

#include <string_view>

namespace caravan::service {

extern const std::string_view kOpenapi;

}  // namespace caravan::service
