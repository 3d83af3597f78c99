// Tokens that a caller gives back as he got them, to go on with a list or a log. They hold no secret and
// grant nothing: whoever makes one up gets what he could have asked for. Pure.
#pragma once

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

}  // namespace caravan::service
