// Pages of a list (AIP-158): how long one is, and behind what the next one begins. Pure.
#pragma once

#include <string>
#include <vector>

#include "service/answer/fault.h"

namespace caravan::service {

// tail_lines of a log, where it has to be looked for.
inline constexpr int kMostTailLines = 10'000;

// page_size of a request; 0: 100, and at most 1,000.
Answer<std::size_t> page_size_of(int asked);

// The place in a page_token that token_of() made (token.h). request: the fields that all pages of a list
// share.
Answer<std::vector<std::string>> place_of_page_token(const std::string& token,
                                                     const std::vector<std::string>& request,
                                                     std::size_t parts_of_place);

}  // namespace caravan::service
