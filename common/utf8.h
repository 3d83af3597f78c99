// UTF-8 text: what it may hold, and how long it is. Everything Caravan reads from users is checked once,
// where it comes in.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace caravan {

// Bytes of the well-formed sequence at the start of `text` (RFC 3629), 0 when there is none.
std::size_t utf8_sequence_length(std::string_view text);

// Characters of a text, which are the columns that it takes on a terminal where each is one column wide, as
// all of ours are.
std::size_t utf8_characters(std::string_view text);

// Offset of the first byte that is not UTF-8.
std::optional<std::size_t> first_invalid_utf8(std::string_view text);

// As many whole characters of the beginning as fit into so many bytes.
std::string_view utf8_prefix(std::string_view text, std::size_t most_bytes);

// Of the sets C0 and C1, which move the cursor of who reads them; ends of lines and tabs do not count.
// character: whole.
bool is_control_character(std::string_view character);

// What of a stranger's text may be shown: UTF-8 without control characters. At most so many bytes, with "..."
// at the end when there was more.
std::string readable(std::string_view text, std::size_t most_bytes = std::string_view::npos);
// The same in one line: an end of a line or a tab is a space.
std::string readable_line(std::string_view text, std::size_t most_bytes);

}  // namespace caravan
