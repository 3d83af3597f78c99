// SHA-256, for what is recognised again without being kept: nobody finds a second text for one.
#pragma once

#include <array>
#include <string_view>

namespace caravan {

using Digest = std::array<unsigned char, 32>;

Digest digest_of(std::string_view text);

}  // namespace caravan
