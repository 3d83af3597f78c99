// Pages of a list (AIP-158): how long one is, and the token that says behind what the next one begins. Pure.
#pragma once

#include <string>
#include <vector>

#include "service/answer/fault.h"

namespace caravan::service {

// page_size of a request; 0: 100, and at most 1,000.
Answer<std::size_t> page_size_of(int asked);

// request: those of its fields that all pages of a list share; a token belongs to them. place: of the page's
// last entry.
std::string page_token_of(const std::vector<std::string>& request, const std::vector<std::string>& place);
// INVALID_ARGUMENT for a token that page_token_of() did not make of that request, with so many parts of a
// place.
Answer<std::vector<std::string>> place_of_page_token(const std::string& token,
                                                     const std::vector<std::string>& request,
                                                     std::size_t parts_of_place);

}  // namespace caravan::service
