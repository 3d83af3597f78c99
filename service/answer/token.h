// Tokens that a caller gives back as he got them, to go on with a list or a log. They hold no secret and
// grant nothing: whoever makes one up gets what he could have asked for. Pure.
#pragma once

#include <charconv>
#include <optional>
#include <string>
#include <vector>

namespace caravan::service {

// request: what has to be the same when the token comes back. place: where to go on.
std::string token_of(const std::vector<std::string>& request, const std::vector<std::string>& place);
// The place; nothing when token_of() did not make it of that request, with so many parts of a place.
std::optional<std::vector<std::string>> place_of_token(const std::string& token,
                                                       const std::vector<std::string>& request,
                                                       std::size_t parts_of_place);

// The number that a part is, and nothing else.
template <typename Number>
std::optional<Number> number_in(const std::string& part) {
  Number number = 0;
  const char* end = part.data() + part.size();
  const auto parsed = std::from_chars(part.data(), end, number);
  return parsed.ec == std::errc{} && parsed.ptr == end ? std::optional(number) : std::nullopt;
}

}  // namespace caravan::service
