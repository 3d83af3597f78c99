// Checks on UTF-8 text. Everything Caravan reads from users is checked once, where it comes in.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace caravan {

// Bytes of the well-formed sequence at the start of `text` (RFC 3629), 0 when there is none.
std::size_t utf8_sequence_length(std::string_view text);

// Offset of the first byte that is not UTF-8.
std::optional<std::size_t> first_invalid_utf8(std::string_view text);

}  // namespace caravan
