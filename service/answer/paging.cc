#include "service/answer/paging.h"

#include <algorithm>

#include "service/answer/token.h"

namespace caravan::service {
namespace {

constexpr int kUsualPage = 100;
constexpr int kLongestPage = 1000;

}  // namespace

Answer<std::size_t> page_size_of(int asked) {
  if (asked < 0) return bad_field("page_size", "expected a number from 0");
  return static_cast<std::size_t>(asked == 0 ? kUsualPage : std::min(asked, kLongestPage));
}

Answer<std::vector<std::string>> place_of_page_token(const std::string& token,
                                                     const std::vector<std::string>& request,
                                                     std::size_t parts_of_place) {
  auto place = place_of_token(token, request, parts_of_place);
  if (place) return *std::move(place);
  return bad_field("page_token", "expected that of the page before, with all but page_size as it was there");
}

}  // namespace caravan::service
