// A grammar by hand: each takes what it names from the front of a text.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace caravan {

// How many there were.
inline std::size_t take_digits(std::string_view& text) {
  const std::size_t count = std::min(text.find_first_not_of("0123456789"), text.size());
  text.remove_prefix(count);
  return count;
}

inline bool take_one_of(std::string_view& text, std::string_view characters) {
  if (text.empty() || characters.find(text.front()) == std::string_view::npos) return false;
  text.remove_prefix(1);
  return true;
}

}  // namespace caravan
