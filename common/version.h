// The version of every Caravan program.
#pragma once

#include <string_view>

namespace caravan {

std::string_view version();

}  // namespace caravan
