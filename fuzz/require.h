// What a fuzz target holds true; ends the process with the sentence and the input otherwise.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace caravan::fuzz {

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

inline void require(bool condition, const char* what, std::string_view context) {
  if (condition) return;
  std::fprintf(stderr, "%s\n%.*s\n", what, static_cast<int>(context.size()), context.data());
  std::abort();
}

}  // namespace caravan::fuzz
